// Log densities of images on a GPU, float32: log p(x|z) of every image together with its
// derivative by the decoder's output, in one pass; the backward pass multiplies that derivative by
// the image's gradient.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace facet::cuda {

/// Where the values of a dense batch of images lie: channel c of pixel p of image b is at
/// b * image + c * channel + p * pixel.
struct ImageLayout {
  int64_t image, channel, pixel;
};

struct LikelihoodShape {
  int64_t images;    ///< B
  int64_t channels;  ///< C of x; a Gaussian's output has 2 C
  int64_t pixels;    ///< H W
  ImageLayout x, output;
};

/// The output is a logit: log density [B], and d log density / d output laid out as the output.
void bernoulli_log_density(const float* x, const float* output, float* log_density,
                           float* derivative, const LikelihoodShape& shape, cudaStream_t stream);

/// The output is C means and then C numbers whose sigmoid is scaled to a standard deviation between
/// two bounds.
void gaussian_log_density(const float* x, const float* output, float* log_density,
                          float* derivative, float smallest_stddev, float largest_stddev,
                          const LikelihoodShape& shape, cudaStream_t stream);

/// `values` [B, numbers] times the gradient of their image. `gradient` [B] has the given stride, 0
/// where all images share one number.
void scale_images(const float* values, const float* gradient, int64_t gradient_stride, float* out,
                  int64_t images, int64_t numbers, cudaStream_t stream);

/// U8 to float32: value * scale + shift, rounded after each.
void from_pixels(const uint8_t* pixels, float* x, int64_t count, float scale, float shift,
                 cudaStream_t stream);

}  // namespace facet::cuda
