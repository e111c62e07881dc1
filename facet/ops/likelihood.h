// Pixels as floats, and log densities of images given the decoder's output. Each function is one
// formula in LibTorch's operations, and a kernel where our kernels run. The kernels' log densities
// send gradients to the decoder's output and none to x.
#pragma once

#include "facet/core/tensor.h"

namespace facet::ops {

/// U8 pixels as float32: pixels * scale + shift.
torch::Tensor from_pixels(const torch::Tensor& pixels, double scale, double shift);

/// log p(x|z) summed over an image, [B]; `output` [B, C, H, W] holds logits.
torch::Tensor bernoulli_log_density(const torch::Tensor& x, const torch::Tensor& output);

/// The same for a Gaussian: `output` [B, 2C, H, W] holds C means and the numbers of
/// gaussian_stddev().
torch::Tensor gaussian_log_density(const torch::Tensor& x, const torch::Tensor& output,
                                   double smallest_stddev, double largest_stddev);

/// Standard deviations [B, C, H, W]: the sigmoid of the second half of `output`, scaled to the
/// bounds.
torch::Tensor gaussian_stddev(const torch::Tensor& output, double smallest_stddev,
                              double largest_stddev);

}  // namespace facet::ops
