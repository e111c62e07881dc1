// Convolutions of images with many channels as matrix products on the tensor cores, without writing
// the matrices out: the forward product with bias and ReLU, the product with the transposed matrix
// (the gradient of the input, and the forward pass of a transposed convolution), and the gradient
// of the weights. Operands are TF32 or bfloat16, sums are float32. Splitting a long sum over
// several blocks never changes the order in which its parts are added, so equal inputs give equal
// bits.
//
// Weights lie as [channels_out][kernel][kernel][channels_in] of the (never transposed) convolution
// that maps x to y. A linear layer is a convolution of 1x1 images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

namespace facet::cuda {

/// What the tensor cores multiply. Activations are stored as it: float32 rounded to TF32, or
/// bfloat16.
enum class Operand { tf32, bf16 };

/// A tensor [B, H, W, C] in device memory by its strides in elements. Channel n lies at
/// (n / channel_group) * channel + (n % channel_group) * within_group, so that a linear layer can
/// read and write feature maps in the order of channels, rows, columns.
struct View {
  void* data = nullptr;
  bool single = false;  ///< float32 as it is; else the operand's type
  int batch = 0, row = 0, column = 0, channel = 1;
  int channel_group = 1, within_group = 0;
};

/// The convolution that maps x [B, height_in, width_in, channels_in] to y.
struct ConvolutionSizes {
  int batch, channels_in, height_in, width_in;
  int channels_out, height_out, width_out;
  int kernel, stride, padding;
  /// Where the channels of a matrix of patches (below) were filled up with zeros: how many the
  /// weights know. 0 for all.
  int known_channels = 0;
  bool known_side_out = false;  ///< they are channels of y, else of x
};

/// What happens to a sum before it is stored.
struct Finish {
  View out;
  const float* bias = nullptr;  ///< one per channel; none where null
  bool relu = false;
  View mask;  ///< where its data is not null: zero unless the mask is above zero
};

/// Memory for partial sums, for one stream. Counters start at zero and return to it.
struct Workspace {
  float* sums = nullptr;
  int* counters = nullptr;
};
/// How much every call may use.
constexpr size_t workspace_sums = size_t{16} << 20, workspace_counters = 1 << 16;

/// y = convolution of x.
void convolve(Operand operand, const ConvolutionSizes& sizes, const View& x, const void* weights,
              const Finish& finish, const Workspace& workspace, cudaStream_t stream);

/// x = transposed convolution of y.
void convolve_transposed(Operand operand, const ConvolutionSizes& sizes, const View& y,
                         const void* weights, const Finish& finish, const Workspace& workspace,
                         cudaStream_t stream);

/// d weights from x and the gradient of y, and where bias_gradient is not null its sum over all
/// pixels.
void weight_gradient(Operand operand, const ConvolutionSizes& sizes, const View& x,
                     const View& y_gradient, float* weights_gradient, float* bias_gradient,
                     const Workspace& workspace, cudaStream_t stream);

/// Sums over all pixels, one per channel: the gradient of a transposed convolution's bias.
void channel_sums(Operand operand, const View& x, int batch, int height, int width, int channels,
                  float* sums, const Workspace& workspace, cudaStream_t stream);

/// Vectors [count, length], rows `stride` apart, as the operand's type, packed.
void round_to_operand(Operand operand, const float* vectors, int count, int length, int stride,
                      void* rounded, cudaStream_t stream);

// Images with few channels make poor rows of a matrix. Their patches, written out once, make good
// ones, and a convolution of them has a 1x1 kernel. Channels are filled up to `pitch` with a one
// (so that a bias is a weight) and zeros.

/// A matrix of the operand's type [rows, columns], packed, as the corner of a larger one of zeros.
void fill_up(Operand operand, const void* matrix, int rows, int columns, void* larger,
             int larger_rows, int larger_columns, cudaStream_t stream);
/// patches[pixel of y][tap, channel of x]: the convolution is then one of tap * channels_in
/// channels.
void unfold(Operand operand, const ConvolutionSizes& sizes, const View& x, void* patches, int pitch,
            cudaStream_t stream);
/// patches[pixel of x][channel of y, tap]: the transposed convolution is then one of
/// channels_out * taps channels.
void unfold_transposed(Operand operand, const ConvolutionSizes& sizes, const View& y, void* patches,
                       int pitch, cudaStream_t stream);
/// y = bias, where it is not null, + the sums of products[pixel of x][channel of y, tap], float32.
void fold(const ConvolutionSizes& sizes, const float* products, int pitch, const float* bias,
          const View& y, cudaStream_t stream);
/// x = bias, where it is not null, + the sums of products[pixel of y][tap, channel of x], float32.
void fold_transposed(const ConvolutionSizes& sizes, const float* products, int pitch,
                     const float* bias, const View& x, cudaStream_t stream);

}  // namespace facet::cuda
