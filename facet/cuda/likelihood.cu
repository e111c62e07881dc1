// Log densities of images, one block per image: the sum over its pixels needs no second launch.
#include "facet/cuda/likelihood.h"
#include "facet/cuda/reduce.cuh"

namespace facet::cuda {

namespace {

constexpr int threads = 256;
constexpr int image_threads = 1024;

/// log(1 + exp(value)), sigmoid(value) and 1 - sigmoid(value), all exact for large values too.
struct Logit {
  float softplus, sigmoid, complement;
};
__device__ Logit logit(float value) {
  const float decay = expf(-fabsf(value));
  const float inverse = 1.0f / (1.0f + decay);
  const float small = decay * inverse;
  return {fmaxf(value, 0.0f) + log1pf(decay), value >= 0 ? inverse : small,
          value >= 0 ? small : inverse};
}

struct Bernoulli {
  __device__ float operator()(float x, const float* output, float* derivative, int64_t at,
                              int64_t) const {
    const float value = output[at];
    const Logit l = logit(value);
    derivative[at] = x - l.sigmoid;
    return value * x - l.softplus;
  }
};

struct Gaussian {
  float smallest, range;

  /// `other` is the distance from a mean to the number behind its stddev.
  __device__ float operator()(float x, const float* output, float* derivative, int64_t at,
                              int64_t other) const {
    const Logit l = logit(output[at + other]);
    const float stddev = smallest + range * l.sigmoid;
    const float scaled = (x - output[at]) / stddev;
    derivative[at] = scaled / stddev;
    // d stddev / d number is range sigmoid (1 - sigmoid).
    const float slope = range * l.sigmoid * l.complement / stddev;
    derivative[at + other] = (scaled * scaled - 1.0f) * slope;
    return -0.5f * scaled * scaled - logf(stddev) - 0.918938533f;  // log(2 pi) / 2
  }
};

template <typename Density>
__global__ void __launch_bounds__(image_threads)
    density_of_images(const float* x, const float* output, float* log_density, float* derivative,
                      Density density, LikelihoodShape shape) {
  __shared__ double shared[32];
  const auto channels = static_cast<uint32_t>(shape.channels),
             pixels = static_cast<uint32_t>(shape.pixels);
  const int64_t image = blockIdx.x;
  const bool channels_inside = shape.output.channel == 1;
  double sum = 0;
  for (uint32_t i = threadIdx.x; i < channels * pixels; i += blockDim.x) {
    // In the order of the output's memory.
    const uint32_t channel = channels_inside ? i % channels : i / pixels;
    const uint32_t pixel = channels_inside ? i / channels : i % pixels;
    const int64_t at =
        image * shape.output.image + channel * shape.output.channel + pixel * shape.output.pixel;
    const float value =
        x[image * shape.x.image + channel * shape.x.channel + pixel * shape.x.pixel];
    sum += density(value, output, derivative, at, shape.channels * shape.output.channel);
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) log_density[image] = static_cast<float>(sum);
}

template <typename Density>
void launch(const float* x, const float* output, float* log_density, float* derivative,
            const Density& density, const LikelihoodShape& shape, cudaStream_t stream) {
  if (shape.images == 0) return;
  const int64_t wanted = (shape.channels * shape.pixels + 31) / 32 * 32;
  const auto size = static_cast<unsigned>(wanted < image_threads ? wanted : image_threads);
  density_of_images<<<static_cast<unsigned>(shape.images), size, 0, stream>>>(
      x, output, log_density, derivative, density, shape);
}

__global__ void scale(const float* values, const float* gradient, int64_t stride, float* out,
                      int64_t images, int64_t numbers) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < images * numbers) out[i] = values[i] * gradient[i / numbers * stride];
}

/// Where an image is a multiple of four numbers.
__global__ void scale_by_four(const float4* values, const float* gradient, int64_t stride,
                              float4* out, int64_t images, int64_t fours) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= images * fours) return;
  const float g = gradient[i / fours * stride];
  const float4 v = values[i];
  out[i] = {v.x * g, v.y * g, v.z * g, v.w * g};
}

__global__ void to_units(const uint8_t* pixels, float* x, int64_t count, float scale, float shift) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < count) x[i] = __fadd_rn(__fmul_rn(static_cast<float>(pixels[i]), scale), shift);
}

unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

void bernoulli_log_density(const float* x, const float* output, float* log_density,
                           float* derivative, const LikelihoodShape& shape, cudaStream_t stream) {
  launch(x, output, log_density, derivative, Bernoulli{}, shape, stream);
}

void gaussian_log_density(const float* x, const float* output, float* log_density,
                          float* derivative, float smallest_stddev, float largest_stddev,
                          const LikelihoodShape& shape, cudaStream_t stream) {
  launch(x, output, log_density, derivative,
         Gaussian{smallest_stddev, largest_stddev - smallest_stddev}, shape, stream);
}

void scale_images(const float* values, const float* gradient, int64_t gradient_stride, float* out,
                  int64_t images, int64_t numbers, cudaStream_t stream) {
  if (images * numbers == 0) return;
  if (numbers % 4 == 0 && aligned(values) && aligned(out))
    scale_by_four<<<blocks_for(images * numbers / 4), threads, 0, stream>>>(
        reinterpret_cast<const float4*>(values), gradient, gradient_stride,
        reinterpret_cast<float4*>(out), images, numbers / 4);
  else
    scale<<<blocks_for(images * numbers), threads, 0, stream>>>(values, gradient, gradient_stride,
                                                                out, images, numbers);
}

void from_pixels(const uint8_t* pixels, float* x, int64_t count, float scale, float shift,
                 cudaStream_t stream) {
  if (count == 0) return;
  to_units<<<blocks_for(count), threads, 0, stream>>>(pixels, x, count, scale, shift);
}

}  // namespace facet::cuda
