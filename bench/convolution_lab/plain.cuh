// Convolutions as plain float64 sums on the GPU, to compare with; inputs; and relative errors. Not
// fast, but fast enough for the layers of both networks.
#pragma once

#include <cstddef>

#include "facet/cuda/convolution.h"

namespace facet::lab {

/// How numbers are stored; the value is the size in bytes.
enum class Storage { bf16 = 2, float32 = 4 };
constexpr size_t bytes_of(Storage storage) { return static_cast<size_t>(storage); }

/// Numbers on the GPU, packed.
struct Numbers {
  const void* data;
  Storage storage;
};

/// Uniform numbers in [-1, 1) that both bf16 or TF32 operands (`precision` float32) and float32
/// hold exactly, stored either way.
void fill(void* data, size_t count, unsigned seed, Storage precision, Storage storage);

/// y = convolution of x, [B, height_out, width_out, channels_out].
void plain_forward(const cuda::ConvolutionSizes& sizes, Numbers x, Numbers weights,
                   const float* bias, bool relu, double* y);
/// x = transposed convolution of y, zero where the mask, if there is one, is not positive.
void plain_transposed(const cuda::ConvolutionSizes& sizes, Numbers y, Numbers weights, Numbers mask,
                      double* x);
/// Gradients [channels_out][taps * channels_in + 1], of which the last column is the bias.
void plain_weights(const cuda::ConvolutionSizes& sizes, Numbers x, Numbers y_gradient,
                   double* gradients);

/// Where number i of a result stands in its reference: first + i + i / group * skip.
struct ReferenceLayout {
  size_t first = 0, group = 1, skip = 0;
};

/// ||found - expected|| / ||expected||, infinite where something is not finite.
double relative_error(Numbers found, size_t count, const double* expected,
                      const ReferenceLayout& layout = {});

}  // namespace facet::lab
