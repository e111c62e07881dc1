// A benchmark of training steps: their times on this machine, the prior's share of a joint step,
// and how close a step comes to the machine's limits, which are measured in the same run.
// docs/speed.md explains the numbers.
#pragma once

#include <functional>
#include <vector>

#include "facet/core/options.h"
#include "facet/train/bench_case.h"

namespace facet {

/// All measurements; the keys are stable, so that results can be compared over time.
Json measure_steps(const BenchOptions& options);

/// What is worth knowing of a machine: both networks in every precision of its device, many
/// components, and labels. Of `like` the device, the batch and the steps are taken.
std::vector<BenchOptions> all_cases(const BenchOptions& like);

/// The machine, the day, and the measurements of all these cases, without peaks of memory, which
/// one process cannot tell apart. After each case `measured` gets what there is so far.
Json measure_all(const BenchOptions& like, const std::function<void(const Json&)>& measured);

}  // namespace facet
