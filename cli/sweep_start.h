// What `facet sweep` starts from: its arguments, and the plan that follows from them and from the
// folder, which may have a sweep already.
#pragma once

#include <string>
#include <vector>

#include "facet/train/sweep_plan.h"

namespace facet {

struct SweepArguments {
  std::string config, output, device = "auto", shard;
  std::vector<std::string> variations, settings;
  bool resume = false, join = false;
  int64_t jobs = 0;  ///< 0: as many as fit on a GPU, one on the CPU

  /// Whether other processes may start the same sweep in the same folder.
  bool joins() const { return join || !shard.empty(); }
};

/// A new plan, or that of the sweep in the folder where it is resumed or joined. Throws an Error
/// where the arguments and the folder do not fit.
SweepPlan starting_plan(const SweepArguments& arguments);

/// For who found no sweep in the folder at first, but did when it made its own: another process was
/// first. Throws an Error if it has another plan.
void require_same_plan(const SweepArguments& arguments);

}  // namespace facet
