// Sums over the images of a batch by the kernels of sums.h, as functions on tensors. The reference
// is ops/sums.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// factor * weight * the mean of `values` [B].
struct WeightedMean {
  torch::Tensor values;  ///< float32 or float64
  double factor = 1.0;
  torch::Tensor weight;  ///< one float64 number on the GPU; undefined stands for 1
};
/// Their sum, one float64 number; gradients flow to the values.
torch::Tensor weighted_sum(const std::vector<WeightedMean>& terms);

/// What is added to one of the sums of a metrics line.
struct SummedTerm {
  enum class What { mean, sum, known /* how many are not negative */ };
  int64_t at;            ///< which sum
  torch::Tensor values;  ///< float32, float64 or int64, one row; undefined adds 1
  What what = What::mean;
};
/// `sums` is float64.
void add_to_sums(const torch::Tensor& sums, const std::vector<SummedTerm>& terms);

}  // namespace facet::cuda
