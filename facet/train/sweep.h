// A sweep: one run for every combination of some options' values, each in its own run folder, so
// that every command works on it. Runs share the data and are otherwise independent: the result of
// each is, bit for bit, that of `facet train` with its config.
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

/// An option and its values.
struct Variation {
  std::string key;  ///< "model.factors.0.components"
  std::vector<Json> values;

  /// Whether it is a seed, whose values repeat a run and are summarised together.
  bool is_seed() const;
};

/// Reads "key=v1,v2,...". A value that is not valid JSON is text; commas inside brackets, braces
/// and quotes belong to a value.
Variation parse_variation(const std::string& text);

/// One combination of values.
struct SweepRun {
  std::string name;          ///< of its folder, such as "components-64_seed-1"
  std::vector<Json> values;  ///< one per variation
  Config config;
};

struct SweepPlan {
  Config base;
  std::vector<Variation> variations;
  std::vector<SweepRun> runs;  ///< the last variation changes fastest
};

/// All combinations. Throws an Error if there is no variation, a key is repeated or is not an
/// option, a value is invalid, or two values are equal. `object` is the config's name, for
/// messages.
SweepPlan plan_sweep(const Config& base, const std::vector<Variation>& variations,
                     const std::string& object);

/// "components" for "model.factors.0.components", or the whole key if another key has the same
/// ending.
std::string short_key(const SweepPlan& plan, size_t variation);

/// A value as text for the user, such as "64" or "fixed".
std::string value_text(const Json& value);

/// The plan as JSON, and back; `object` is the file's name, for messages.
Json to_json(const SweepPlan& plan);
SweepPlan plan_of_json(const Json& json, const std::string& object);

enum class RunState { waiting, stopped, failed, finished };
const char* state_name(RunState state);

/// The outcome of a run.
struct RunOutcome {
  RunState state = RunState::waiting;
  double seconds = 0;        ///< of training and evaluation, over all sessions
  Json evaluation;           ///< its eval.json, once it is finished
  std::string failure;       ///< one line that says why it failed
  std::exception_ptr error;  ///< the exception of the failure
};

/// The data of all runs: a pack that several runs use is loaded once, and is on the device once.
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

/// Called from the threads of the runs, several at the same time.
struct SweepCallbacks {
  /// The callbacks for the training of a run.
  std::function<TrainingCallbacks(size_t run)> training;
  /// Evaluates a trained run and writes its files, eval.json last.
  std::function<void(Trainer&, const Pack&, const SweepRun&, const RunFolder&)> finish;
  std::function<void(size_t run)> started;
  std::function<void(size_t run, const RunOutcome&)> ended;
};

/// Whether a run has been trained and evaluated.
bool is_finished(const RunFolder& folder);

/// Trains the runs that are not finished, resuming those that were started. If one fails, the
/// others go on. `outcomes` has one entry per run, with the results of earlier sessions, and is
/// updated.
void run_sweep(const SweepPlan& plan, const SharedPacks& packs, const SweepOptions& options,
               const SweepCallbacks& callbacks, std::vector<RunOutcome>& outcomes);

/// Throws an Error if an existing run folder has another config than the plan has for it.
void require_same_configs(const SweepPlan& plan, const std::filesystem::path& folder);

}  // namespace facet
