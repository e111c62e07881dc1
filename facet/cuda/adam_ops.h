// Adam by the kernels of adam.h, as functions on tensors. The reference is ops/adam.cpp.
#pragma once

#include "facet/core/tensor.h"

namespace facet::cuda {

struct AdamNumbers {
  double beta1, beta2, epsilon;
  double clip_grad_norm;        ///< 0 leaves gradients as they are
  double weight_decay;          ///< times the learning rate: the share that parameters lose
  torch::Tensor learning_rate;  ///< one float64 number on the parameters' device
  torch::Tensor step;           ///< one int64 number there, counted from 1
  torch::Tensor norm;  ///< gradient_norm() of all gradients; not used where none is clipped
};
/// One step of flat float32 parameters in place. `bf16_copy`, where defined, receives the new
/// parameters as bfloat16.
void adam_step(const torch::Tensor& parameters, const torch::Tensor& gradients,
               const torch::Tensor& first, const torch::Tensor& second,
               const torch::Tensor& bf16_copy, const AdamNumbers& numbers);
/// The Euclidean norm of a flat float32 gradient, one float64 number on the GPU.
torch::Tensor gradient_norm(const torch::Tensor& gradients);

}  // namespace facet::cuda
