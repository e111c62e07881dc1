// What a sweep is to train, and what became of its runs, as plain values.
#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "facet/core/json.h"
#include "facet/train/config.h"
#include "facet/train/run_folder.h"

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

/// Whether a run has been trained and evaluated to its end.
bool is_finished(const RunFolder& folder);

/// An Error where a run folder that is there holds another config than the plan has for it.
void require_same_configs(const SweepPlan& plan, const std::filesystem::path& folder);

}  // namespace facet
