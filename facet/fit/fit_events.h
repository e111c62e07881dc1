// What a fit reports while it runs, as plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace facet {

/// One iteration. The bound is that of the posterior after so many updates, in nats per vector and
/// in the units of the vectors.
struct FitIteration {
  int64_t iteration = 0;
  double bound = 0;
  int64_t living = 0;             ///< components with more than one vector, over all factors
  int64_t merged = 0, split = 0;  ///< by the moves before this iteration
  bool last = false;
};

struct FitCallbacks {
  std::function<void(const FitIteration&)> report;
  std::function<void(const std::string&)> notice;
  std::function<bool()> stop;  ///< asked at every iteration; true ends the fit there
};

}  // namespace facet
