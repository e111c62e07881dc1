// The plan of a sweep and the outcomes of its runs, as plain values.
#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "facet/core/json.h"
#include "facet/train/config.h"
#include "facet/train/run_folder.h"

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

/// The first option whose values differ, as "seed: [1,2], [1,2,3]"; empty if there is none.
std::string first_difference(const std::vector<Variation>& one,
                             const std::vector<Variation>& other);

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

/// The same with absolute paths of packs: a sweep may be continued from another directory.
std::vector<Variation> with_absolute_packs(std::vector<Variation> variations);

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
  double seconds = 0;        ///< of training and evaluation, summed over all resumes
  Json evaluation;           ///< its eval.json, once it is finished
  std::string failure;       ///< one line that says why it failed
  std::exception_ptr error;  ///< the exception of the failure
};

/// Whether a run has been trained and evaluated.
bool is_finished(const RunFolder& folder);

/// Throws an Error if an existing run folder has another config than the plan has for it.
void require_same_configs(const SweepPlan& plan, const std::filesystem::path& folder);

}  // namespace facet
