// Images changed as if taken a moment later: moved and stretched a little, softer, noisier, in
// other light. What they show stays, so a few labelled images can stand for many.
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"

namespace facet {

/// U8 pixels [B, C, H, W], each image changed in its own way.
torch::Tensor augment(const torch::Tensor& pixels, const Key& key);

/// U8 pixels [B, C, H, W] with left and right swapped in about half of the images. Apart from
/// augment(), because a mirrored digit is none.
torch::Tensor mirror_half(const torch::Tensor& pixels, const Key& key);

}  // namespace facet
