// Likelihoods by the kernels of likelihood.h, as functions on tensors, differentiable in the
// decoder's output. The reference is ops/likelihood.cpp.
#pragma once

#include "facet/core/tensor.h"

namespace facet::cuda {

/// U8 pixels as float32: pixels * scale + shift.
torch::Tensor from_pixels(const torch::Tensor& pixels, double scale, double shift);
/// log p(x|z) summed over an image, [B]; `output` [B, C, H, W] holds logits.
torch::Tensor bernoulli_log_density(const torch::Tensor& x, const torch::Tensor& output);
/// The same where `output` [B, 2C, H, W] holds means and the numbers that a sigmoid turns into
/// standard deviations.
torch::Tensor gaussian_log_density(const torch::Tensor& x, const torch::Tensor& output,
                                   double smallest_stddev, double largest_stddev);

}  // namespace facet::cuda
