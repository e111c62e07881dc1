// A benchmark of training steps: their times on this machine, the prior's share of a joint step,
// and how close a step comes to the machine's limits, which are measured in the same run.
// docs/speed.md explains the numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "facet/core/options.h"

namespace facet {

struct BenchOptions {
  std::string network = "paper28";  ///< the paper's network: paper28 or paper64
  std::string device = "auto", precision = "tf32";
  int64_t components = 64, batch = 64;
  /// With a named factor, of whose labels a tenth is known, and with all terms of labels: a batch
  /// of labelled images, pseudo-labels and consistency.
  bool labels = false;
  bool exchange = false;  ///< as the only one of joined ranks, which exchanges with itself
  int64_t steps = 0;      ///< of each phase; 0: 30 on the CPU, 1000 on a GPU
};

/// All measurements; the keys are stable, so that results can be compared over time.
Json measure_steps(const BenchOptions& options);

/// What is worth knowing of a machine: both networks in every precision of its device, many
/// components, and labels. Of `like` the device, the batch and the steps are taken.
std::vector<BenchOptions> all_cases(const BenchOptions& like);

/// The machine, the day, and the measurements of all these cases, without peaks of memory, which
/// one process cannot tell apart. After each case `measured` gets what there is so far.
Json measure_all(const BenchOptions& like, const std::function<void(const Json&)>& measured);

}  // namespace facet
