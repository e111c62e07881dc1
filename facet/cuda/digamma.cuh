// The digamma function in float64, for positive numbers: the recurrence up to 10 and the asymptotic
// series beyond, whose first neglected term is below 1e-16 there.
#pragma once

namespace facet::cuda {

__device__ inline double digamma(double x) {
  // The recurrence's sum of 1 / x as one fraction, so that it costs one division.
  double numerator = 0, denominator = 1;
  for (int i = 0; i < 10 && x < 10; ++i) {
    numerator = numerator * x + denominator;
    denominator *= x;
    x += 1;
  }
  const double inverse = 1 / x, y = inverse * inverse;
  const double series =
      y * (1.0 / 12 -
           y * (1.0 / 120 -
                y * (1.0 / 252 -
                     y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y * (1.0 / 12)))))));
  return log(x) - 0.5 * inverse - series - numerator / denominator;
}

}  // namespace facet::cuda
