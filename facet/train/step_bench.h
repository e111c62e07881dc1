// A benchmark of training steps: their times on this machine, the prior's share of a joint step,
// and how close a step comes to the machine's limits, which are measured in the same run.
// docs/speed.md explains the numbers.
#pragma once

#include <cstdint>
#include <string>

#include "facet/core/options.h"

namespace facet {

struct BenchOptions {
  std::string network = "paper28";  ///< the paper's network: paper28 or paper64
  std::string device = "auto", precision = "tf32";
  int64_t components = 64, batch = 64;
  bool exchange = false;  ///< as the only one of joined ranks, which exchanges with itself
  int64_t steps = 0;      ///< of each phase; 0: 30 on the CPU, 1000 on a GPU
};

/// All measurements; the keys are stable, so that results can be compared over time.
Json measure_steps(const BenchOptions& options);

}  // namespace facet
