// Convolutions on the CPU, where LibTorch leaves time on the table. Images in channels-last order
// are what oneDNN computes on without rearranging them before and after every layer; a transposed
// convolution is the gradient of a plain one, which oneDNN has and LibTorch 1.13 does not ask for;
// and oneDNN computes at least a vector of output channels, however few a layer has.
#pragma once

#include "facet/core/tensor.h"

namespace facet {

/// The same images [B, C, H, W] with a pixel's channels side by side in memory. LibTorch's own
/// conversion leaves images of one channel as they are, and oneDNN then takes them for planes.
torch::Tensor channels_last(const torch::Tensor& images);

/// torch::conv_transpose2d of images [B, C, h, w] on the CPU: to [B, O, height, width], which fixes
/// what that function calls output padding. `weight` is [C, O, kernel, kernel].
torch::Tensor transposed_convolution(const torch::Tensor& images, const torch::Tensor& weight,
                                     const torch::Tensor& bias, int64_t stride, int64_t padding,
                                     int64_t height, int64_t width);

/// Fewer output channels than this are better computed by `narrow_convolution`.
constexpr int64_t narrow_channels = 8;

/// torch::conv2d of images [B, C, H, W] on the CPU that keeps their size: stride 1, an odd kernel.
/// Made for few output channels; `weight` is [O, C, kernel, kernel].
torch::Tensor narrow_convolution(const torch::Tensor& images, const torch::Tensor& weight,
                                 const torch::Tensor& bias);

}  // namespace facet
