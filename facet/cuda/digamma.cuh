// The digamma function in float64, for positive numbers, and the logarithm of a Gamma's mean that
// goes with it. Below 10 the argument is shifted by 8, in short chains of operations that need one
// division; beyond, the asymptotic series' first neglected term is below 1e-15 / 4.
#pragma once

namespace facet::cuda {

/// digamma(x) = log(shifted) + rest, so that callers can join the logarithm with another.
struct SplitDigamma {
  double shifted, rest;
};

__device__ inline SplitDigamma split_digamma(double x) {
  const bool small = x < 10;
  // 1/x + ... + 1/(x+7), paired from both ends: (x+i)(x+7-i) = y + i (7-i).
  const double y = x * (x + 7), p = y * (y + 6), q = (y + 10) * (y + 12);
  const double numerator = (2 * x + 7) * ((2 * y + 6) * q + (2 * y + 22) * p);
  const double skipped = small ? numerator / (p * q) : 0.0;
  const double shifted = small ? x + 8 : x;
  const double inverse = 1 / shifted, z = inverse * inverse;
  const double series =
      z *
      (1.0 / 12 -
       z * (1.0 / 120 -
            z * (1.0 / 252 -
                 z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 -
                                                        z * (1.0 / 12 - z * (3617.0 / 8160))))))));
  return {shifted, -0.5 * inverse - series - skipped};
}

__device__ inline double digamma(double x) {
  const SplitDigamma parts = split_digamma(x);
  return log(parts.shifted) + parts.rest;
}

}  // namespace facet::cuda
