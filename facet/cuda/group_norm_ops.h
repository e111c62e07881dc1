// Group norm by the kernels of group_norm.h, as a function on tensors, differentiable in all of
// them. The reference is ops/group_norm.cpp.
#pragma once

#include "facet/core/tensor.h"

namespace facet::cuda {

/// Whether the kernels take images [B, C, H, W] of so many channels.
bool normalises(int64_t channels, int64_t groups);

/// bfloat16 images [B, C, H, W], in channels-last order or brought into it; `weight` and `bias`
/// [C], float32; `modulation` [B, 2 C] or undefined. The result is in channels-last order.
torch::Tensor group_norm(const torch::Tensor& images, int64_t groups, const torch::Tensor& weight,
                         const torch::Tensor& bias, const torch::Tensor& modulation, bool silu);

}  // namespace facet::cuda
