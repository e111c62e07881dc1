// Numbers that change over a run: the learning rate, the weight of a KL term, and the size of
// natural-gradient steps. They are pure functions of the step, so that a resumed run has the same.
#pragma once

#include <cstdint>
#include <string>

#include "facet/core/options.h"

namespace facet {

/// From `start` to `end` over `steps` steps, then constant; with the shape "step", `start` for
/// `steps` steps and then `end`.
struct Schedule {
  double start = 1.0;
  double end = 1.0;
  int64_t steps = 0;
  std::string shape = "linear";

  void visit(OptionVisitor& visitor);
  /// The value at step 0, 1, 2, ...; `whole` replaces `steps` if that is 0.
  double at(int64_t step, int64_t whole) const;
};

/// rho of eq:lambda-update.
struct StepSize {
  std::string form = "scaled";
  double rho0 = 0.01;
  double tau0 = 40000;
  double kappa = 0.51;

  void visit(OptionVisitor& visitor);
  double at(int64_t step) const;
};

}  // namespace facet
