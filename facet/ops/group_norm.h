// Group norm with what follows it in a block of a U-Net, in one pass over the images on a GPU.
#pragma once

#include "facet/core/tensor.h"

namespace facet::ops {

struct GroupNorm {
  int64_t groups;
  torch::Tensor weight, bias;  ///< [C], float32
  bool silu = false;           ///< SiLU of the result
};

/// Images [B, C, H, W] with mean 0 and variance 1 over every group of channels, times the weight
/// plus the bias. With `modulation` [B, 2 C], a scale s and a shift t per image and channel, that
/// is multiplied by 1 + s, and t is added; it may be undefined. The type is that of the images.
torch::Tensor group_norm(const torch::Tensor& images, const GroupNorm& norm,
                         const torch::Tensor& modulation = {});

}  // namespace facet::ops
