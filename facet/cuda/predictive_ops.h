// The predictive log density by the kernel of predictive.h, as a function on tensors. The reference
// is predictive_log_density() of one factor in prior/factorial_mixture.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// The mixture of one factor: prior/student_t.h has the formula, the constants contain log weights.
struct PredictiveTensors {
  torch::Tensor constant;               ///< float64 [K]
  torch::Tensor centre, spread, power;  ///< float64 [K, D]
};
/// The sum over the factors, float64 [B], of float32 z [B, Z]. Factor i's block begins at column
/// `begins[i]`. Nothing is differentiable.
torch::Tensor predictive_log_density(const torch::Tensor& z,
                                     const std::vector<PredictiveTensors>& factors,
                                     const std::vector<int64_t>& begins);

}  // namespace facet::cuda
