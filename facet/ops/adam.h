// Adam on flat buffers. Each function is one formula in LibTorch's operations, and a kernel for
// float32 where our kernels run. What changes from step to step is read from tensors on the
// parameters' device, so that a step on a GPU can be captured.
#pragma once

#include "facet/core/tensor.h"
#include "facet/cuda/adam_ops.h"

namespace facet::ops {

using AdamNumbers = cuda::AdamNumbers;

/// One step of flat `parameters` in place, with the running means of the gradient (`first`) and of
/// its square (`second`). A gradient that is clipped may be scaled in place. `bf16_copy`, where
/// defined, receives the new parameters as bfloat16.
void adam_step(const torch::Tensor& parameters, const torch::Tensor& gradients,
               const torch::Tensor& first, const torch::Tensor& second,
               const torch::Tensor& bf16_copy, const AdamNumbers& numbers);

/// The Euclidean norm of a flat gradient, one number on its device.
torch::Tensor gradient_norm(const torch::Tensor& gradients);

}  // namespace facet::ops
