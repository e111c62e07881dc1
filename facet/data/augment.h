// Random augmentation: small shifts and stretches, blur, noise, contrast and brightness. Labels
// stay valid, so a few labelled images can train a classifier as if they were many.
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"

namespace facet {

/// U8 pixels [B, C, H, W], each image augmented with draws of its own.
torch::Tensor augment(const torch::Tensor& pixels, const Key& key);

/// The same with larger shifts and stretches, rotation, shear, and a square without content: views
/// that are harder to recognise.
torch::Tensor augment_strongly(const torch::Tensor& pixels, const Key& key);

/// Larger shifts and stretches, rotation, shear, a square without content, contrast and brightness,
/// but neither blur nor noise: a network that learns from these views can still tell sharp images.
torch::Tensor augment_sharply(const torch::Tensor& pixels, const Key& key);

/// U8 pixels [B, C, H, W] with left and right swapped in about half of the images. Separate from
/// augment(), because a mirrored digit is not a digit.
torch::Tensor mirror_half(const torch::Tensor& pixels, const Key& key);

}  // namespace facet
