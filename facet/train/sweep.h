// A sweep: one config trained once for every combination of some options' values, each as a run
// folder of its own, so that every command works on it. Runs share the data and do not know of each
// other: each is, bit for bit, what `facet train` makes of its config.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "facet/train/trainer.h"

namespace facet {

/// An option and the values that it takes in turn.
struct Variation {
  std::string key;  ///< "model.factors.0.components"
  std::vector<Json> values;

  /// Whether it is a seed: values of it repeat a run and are looked at together.
  bool is_seed() const;
};

/// Reads "key=v1,v2,...": each value is JSON where it parses as such, else text; commas inside of
/// brackets, braces and quotes belong to a value.
Variation parse_variation(const std::string& text);

/// One combination of values.
struct SweepRun {
  std::string name;          ///< of its folder: "components-64_seed-1"
  std::vector<Json> values;  ///< one a variation
  Config config;
};

struct SweepPlan {
  Config base;
  std::vector<Variation> variations;
  std::vector<SweepRun> runs;  ///< the last variation changes fastest
};

/// All combinations. An Error where there is no variation, a key comes twice or is no option, a
/// value does not fit, or two values are the same. `object` is the config's name, for messages.
SweepPlan plan_sweep(const Config& base, const std::vector<Variation>& variations,
                     const std::string& object);

/// "components" for "model.factors.0.components", or the whole key where another one ends so too.
std::string short_key(const SweepPlan& plan, size_t variation);

/// "64" or "fixed": a value for a reader.
std::string value_text(const Json& value);

/// The plan as JSON, and back; `object` is the file's name, for messages.
Json to_json(const SweepPlan& plan);
SweepPlan plan_of_json(const Json& json, const std::string& object);

enum class RunState { waiting, stopped, failed, finished };
const char* state_name(RunState state);

/// What became of a run.
struct RunOutcome {
  RunState state = RunState::waiting;
  double seconds = 0;        ///< from its start to its evaluation, over all sittings
  Json evaluation;           ///< its eval.json, once it is finished
  std::string failure;       ///< in a line, where it has failed
  std::exception_ptr error;  ///< and as it was thrown
};

/// The data that runs are trained on: what several of them name is loaded once, and is once on the
/// device.
class SharedPacks {
 public:
  explicit SharedPacks(const SweepPlan& plan);
  const Pack& of(const Config& config) const;

 private:
  std::map<std::string, std::shared_ptr<Pack>> packs_;  ///< by the options that name them
};

struct SweepOptions {
  std::filesystem::path folder;
  torch::Device device = torch::kCPU;
  size_t jobs = 1;  ///< runs at the same time, each in its own host thread and CUDA stream
};

/// Called from the threads of the runs, several at a time.
struct SweepCallbacks {
  /// What a run is to be told while it trains, and asked whether it shall stop.
  std::function<TrainingCallbacks(size_t run)> training;
  /// Evaluates a trained run and writes what it leaves behind: eval.json at last.
  std::function<void(Trainer&, const Pack&, const SweepRun&, const RunFolder&)> finish;
  std::function<void(size_t run)> started;
  std::function<void(size_t run, const RunOutcome&)> ended;
};

/// Whether a run has been trained and evaluated to its end.
bool is_finished(const RunFolder& folder);

/// Trains what is not finished yet: runs that were begun go on, others start. One that fails does
/// not keep the others from going on. `outcomes` has one entry a run, with what is known of earlier
/// sittings, and is brought up to date.
void run_sweep(const SweepPlan& plan, const SharedPacks& packs, const SweepOptions& options,
               const SweepCallbacks& callbacks, std::vector<RunOutcome>& outcomes);

/// An Error where a run folder that is there holds another config than the plan has for it.
void require_same_configs(const SweepPlan& plan, const std::filesystem::path& folder);

}  // namespace facet
