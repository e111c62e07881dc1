// Numbers that change over a run: the learning rate, the weight of a KL term, and the step size of
// the natural-gradient steps. Pure functions of the step, so that a resumed run is on schedule.
#pragma once

#include <cstdint>
#include <string>

#include "facet/core/options.h"

namespace facet {

/// From `start` to `end` over `steps` steps, then constant; or `start` for that long and then
/// `end`.
struct Schedule {
  double start = 1.0;
  double end = 1.0;
  int64_t steps = 0;
  std::string shape = "linear";

  void visit(OptionVisitor& visitor);
  /// The value at step 0, 1, 2, ...; `whole` is the length that `steps` = 0 stands for.
  double at(int64_t step, int64_t whole) const;
};

/// rho of eq:lambda-update.
struct StepSize {
  std::string form = "scaled";
  double rho0 = 0.01;
  double tau0 = 2000;
  double kappa = 0.7;

  void visit(OptionVisitor& visitor);
  double at(int64_t step) const;
};

}  // namespace facet
