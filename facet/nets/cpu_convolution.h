// Convolutions on the CPU that are faster than LibTorch's. oneDNN computes on channels-last images
// without rearranging them before and after every layer. A transposed convolution is the gradient
// of a plain one, which oneDNN has and LibTorch 1.13 does not use. And oneDNN always computes a
// full vector of output channels, which is wasteful for layers with few.
#pragma once

#include "facet/core/tensor.h"

namespace facet {

/// The same images [B, C, H, W] with the channels of a pixel adjacent in memory. LibTorch's own
/// conversion does not change the strides of one-channel images, and oneDNN then takes them for
/// planar ones.
torch::Tensor channels_last(const torch::Tensor& images);

/// torch::conv_transpose2d on the CPU, from [B, C, h, w] to [B, O, height, width]; the size of the
/// output determines the output padding. `weight` is [C, O, kernel, kernel].
torch::Tensor transposed_convolution(const torch::Tensor& images, const torch::Tensor& weight,
                                     const torch::Tensor& bias, int64_t stride, int64_t padding,
                                     int64_t height, int64_t width);

/// Below this number of output channels `narrow_convolution` is faster.
constexpr int64_t narrow_channels = 8;

/// torch::conv2d on the CPU for few output channels, with stride 1 and an odd kernel, so that
/// images [B, C, H, W] keep their size. `weight` is [O, C, kernel, kernel].
torch::Tensor narrow_convolution(const torch::Tensor& images, const torch::Tensor& weight,
                                 const torch::Tensor& bias);

}  // namespace facet
