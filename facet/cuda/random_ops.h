// Random draws by the kernels of random.h, as functions on tensors. The reference is LibTorch's
// generator (core/random.cpp), which draws other numbers of the same distributions.
#pragma once

#include <cstdint>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// Element i is a pure function of the key, of the number in `counter` (int64 on the GPU;
/// undefined stands for 0) and of i. `options` say float32 or float64 on a GPU.
torch::Tensor standard_normal(uint64_t key, const torch::Tensor& counter, torch::IntArrayRef shape,
                              const torch::TensorOptions& options);
/// The same in [0, 1).
torch::Tensor uniform(uint64_t key, const torch::Tensor& counter, torch::IntArrayRef shape,
                      const torch::TensorOptions& options);

}  // namespace facet::cuda
