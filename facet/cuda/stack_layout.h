// How the layers of a stack look to the kernels of convolution.h: every layer is a convolution, and
// every tensor a view by strides. For CUDA files only.
#pragma once

#include "facet/core/tensor.h"
#include "facet/cuda/convolution.h"
#include "facet/cuda/stack.h"

namespace facet::cuda {

/// The kernels count in int.
inline int whole(int64_t number) { return static_cast<int>(number); }

/// Numbers that a layer gives per image.
int64_t output_count(const StackLayer& layer);

/// Float32 images [B, C, H, W] or vectors [B, Z], by their strides.
View view_of(const torch::Tensor& tensor);
/// Activations [B, H, W, C] of the operand's type.
View rows_of_channels(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels);
/// Activations [B, C, H, W] of the operand's type, as a linear layer reads them.
View rows_of_features(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels);
/// Features in the order of channels, rows and columns that lie as [B, H, W, C].
View features_in_rows(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels);
/// Vectors [B, F] of the operand's type.
View vectors(const torch::Tensor& data, int64_t features);

/// The convolution behind a layer: a transposed one is it backwards, a linear one has 1x1 images.
ConvolutionSizes sizes_of(const StackLayer& layer, int64_t batch);

/// Too few channels, or too odd a number of them, for 16-byte pieces of a row.
inline bool narrow(int64_t channels) { return channels % 8 != 0; }

/// The convolution with a 1x1 kernel that patches of few channels make of another one. Patches are
/// filled up to whole stages of the kernels, and so are the weights that meet them.
struct Patches {
  ConvolutionSizes known;   ///< counts only the channels that the weights know
  ConvolutionSizes filled;  ///< with weights that were filled up
  int count, pitch;         ///< of those channels
  int rows, columns;        ///< of the weights as a matrix
  int filled_rows, filled_columns;

  int64_t elements() const;
  View view(const torch::Tensor& data) const;
};
/// Patches of x, or of y as the transposed convolution needs them.
Patches patches_of(const ConvolutionSizes& sizes, bool of_x);

}  // namespace facet::cuda
