// Group norm on a GPU for bfloat16 images in channels-last order, with what follows it in a U-Net
// in the same pass: a scale and a shift per image and channel, and SiLU. Per image and channel all
// of it before SiLU is one multiplication and one addition, so an image is read once for its sums
// and once for its result; so are image and gradient in the backward pass.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace facet::cuda {

/// Most channels that the kernels take; their number is a multiple of 8 and of the groups.
constexpr int64_t most_norm_channels = 2048;

struct GroupNormShape {
  int64_t images, pixels, channels, groups;
  float epsilon;
  bool silu;

  /// Parts that an image is summed in, one block each.
  int64_t parts() const;
};

/// What the backward pass needs again, float32: y = f(scale * x + shift), [images, channels], and
/// the mean and 1 / standard deviation of every group, [images, groups].
struct GroupNormState {
  float *scale, *shift, *mean, *inverse;
};

/// `weight` and `bias`, [channels], of the norm; `modulation`, [images, 2 * channels] or null,
/// holds a scale, to which one is added, and a shift of what the norm gives. `partials` has room
/// for images * parts() * channels * 2 numbers. x and y are bfloat16, [images, pixels, channels].
void group_norm(const uint16_t* x, const float* weight, const float* bias, const float* modulation,
                uint16_t* y, const GroupNormState& state, float* partials,
                const GroupNormShape& shape, cudaStream_t stream);

/// The gradients for that of y. Those of weight and bias are each image's share, [images,
/// channels]; that of the modulation may be null. `coefficients` has room for images * groups * 2.
void group_norm_backward(const uint16_t* x, const uint16_t* y_gradient, const float* weight,
                         const float* bias, const float* modulation, const GroupNormState& state,
                         uint16_t* x_gradient, float* weight_gradients, float* bias_gradients,
                         float* modulation_gradient, float* partials, float* coefficients,
                         const GroupNormShape& shape, cudaStream_t stream);

}  // namespace facet::cuda
