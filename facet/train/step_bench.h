// How long training steps take on this machine, how much of a joint step is the prior, and how near
// the step comes to what the machine can do, measured in the same run: docs/speed.md explains the
// numbers.
#pragma once

#include <cstdint>
#include <string>

#include "facet/core/options.h"

namespace facet {

struct BenchOptions {
  std::string network = "paper28";  ///< the paper's network: paper28 or paper64
  std::string device = "auto", precision = "tf32";
  int64_t components = 64, batch = 64;
  int64_t steps = 0;  ///< of each phase; 0: 30 on the CPU, 1000 on a GPU
};

/// Everything that was measured, under keys that stay the same from day to day.
Json measure_steps(const BenchOptions& options);

}  // namespace facet
