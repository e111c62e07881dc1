#include "facet/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace facet {

void Schedule::visit(OptionVisitor& visitor) {
  visitor.option("start", start, "Value at the first step.", between(0, 1e30));
  visitor.option("end", end, "Value after the last step.", between(0, 1e30));
  visitor.option("steps", steps, "Steps from start to end; 0: the whole phase.", at_least(0));
  visitor.option("shape", shape, "A straight line, half a cosine wave, or a jump at the end.",
                 one_of({"linear", "cosine", "step"}));
}

double Schedule::at(int64_t step, int64_t whole) const {
  const int64_t length = std::max<int64_t>(1, steps > 0 ? steps : whole);
  const double done = std::min(1.0, static_cast<double>(step) / static_cast<double>(length));
  const double progress = shape == "cosine" ? 0.5 * (1.0 - std::cos(std::numbers::pi * done))
                          : shape == "step" ? std::floor(done)
                                            : done;
  return start + (end - start) * progress;
}

void StepSize::visit(OptionVisitor& visitor) {
  visitor.option("form", form,
                 "'scaled': rho0 (1 + t / tau0)^-kappa; 'plain': (tau0 + t)^-kappa, as in the "
                 "paper.",
                 one_of({"scaled", "plain"}));
  visitor.option("rho0", rho0, "Initial step size of the scaled form.", between(0, 1));
  visitor.option("tau0", tau0, "Number of steps after which the step size starts to fall.",
                 at_least(1));
  visitor.option("kappa", kappa, "Exponent; training converges for more than 0.5, up to 1.",
                 between(0, 1));
}

double StepSize::at(int64_t step) const {
  const auto t = static_cast<double>(step);
  return form == "plain" ? std::pow(tau0 + t, -kappa) : rho0 * std::pow(1.0 + t / tau0, -kappa);
}

}  // namespace facet
