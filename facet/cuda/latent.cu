// The pointwise kernels of latent.h, one thread per latent dimension of an image; the noise is
// drawn anew in the backward pass instead of being stored.
#include "facet/cuda/latent.h"
#include "facet/cuda/philox.cuh"
#include "facet/cuda/reduce.cuh"

namespace facet::cuda {

namespace {

constexpr int threads = 256;

unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// Normal number `index` of a tensor. Every thread draws four and keeps one: cheaper at these sizes
/// than four per thread, whose reads and writes would not be coalesced.
__device__ float normal_at(const Draws& draws, int64_t index) {
  const float4 four = four_normals(draws, static_cast<uint64_t>(index) / 4);
  const float low = index % 2 == 0 ? four.x : four.y, high = index % 2 == 0 ? four.z : four.w;
  return index % 4 < 2 ? low : high;
}

/// NaN stays NaN.
__device__ float clamped(float value, float low, float high) {
  return value < low ? low : value > high ? high : value;
}

__global__ void split(const float* head, float* mean, float* log_variance, float* z,
                      LatentShape shape) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= shape.images * shape.latents) return;
  const int64_t image = i / shape.latents;
  const float centre = head[i + image * shape.latents];
  const float spread = clamped(head[i + (image + 1) * shape.latents], shape.low, shape.high);
  mean[i] = centre;
  log_variance[i] = spread;
  if (z) z[i] = centre + expf(0.5f * spread) * normal_at(draws_of(shape.key, shape.step), i);
}

__global__ void split_gradient(const float* head, const float* mean_gradient,
                               const float* log_variance_gradient, const float* z_gradient,
                               float* head_gradient, LatentShape shape) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= shape.images * shape.latents) return;
  const int64_t image = i / shape.latents;
  const float spread = head[i + (image + 1) * shape.latents];
  float of_mean = mean_gradient ? mean_gradient[i] : 0.0f;
  float of_log_variance = log_variance_gradient ? log_variance_gradient[i] : 0.0f;
  if (z_gradient) {
    const float noise = normal_at(draws_of(shape.key, shape.step), i);
    of_mean += z_gradient[i];
    of_log_variance +=
        0.5f * z_gradient[i] * expf(0.5f * clamped(spread, shape.low, shape.high)) * noise;
  }
  const bool inside = spread >= shape.low && spread <= shape.high;
  head_gradient[i + image * shape.latents] = of_mean;
  head_gradient[i + (image + 1) * shape.latents] = inside ? of_log_variance : 0.0f;
}

__global__ void sample(const float* mean, const float* log_variance, float* z, int64_t count,
                       uint64_t key, const int64_t* step) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= count) return;
  z[i] = mean[i] + expf(0.5f * log_variance[i]) * normal_at(draws_of(key, step), i);
}

__global__ void sample_gradient(const float* log_variance, const float* z_gradient,
                                float* log_variance_gradient, int64_t count, uint64_t key,
                                const int64_t* step) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= count) return;
  log_variance_gradient[i] =
      0.5f * z_gradient[i] * expf(0.5f * log_variance[i]) * normal_at(draws_of(key, step), i);
}

/// One warp per image.
__global__ void normal_kl(const float* mean, const float* log_variance, float* kl, int64_t images,
                          int64_t latents) {
  const int64_t image = static_cast<int64_t>(blockIdx.x) * (threads / 32) + threadIdx.x / 32;
  if (image >= images) return;
  float sum = 0;
  for (int64_t d = threadIdx.x % 32; d < latents; d += 32) {
    const float m = mean[image * latents + d], spread = log_variance[image * latents + d];
    sum += m * m + expf(spread) - 1.0f - spread;
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) kl[image] = 0.5f * sum;
}

__global__ void normal_kl_gradient(const float* mean, const float* log_variance,
                                   const float* kl_gradient, int64_t stride, float* mean_gradient,
                                   float* log_variance_gradient, int64_t images, int64_t latents) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= images * latents) return;
  const float gradient = kl_gradient[i / latents * stride];
  mean_gradient[i] = gradient * mean[i];
  log_variance_gradient[i] = 0.5f * gradient * (expf(log_variance[i]) - 1.0f);
}

}  // namespace

void split_encoding(const float* head, float* mean, float* log_variance, float* z,
                    const LatentShape& shape, cudaStream_t stream) {
  const int64_t count = shape.images * shape.latents;
  if (count == 0) return;
  split<<<blocks_for(count), threads, 0, stream>>>(head, mean, log_variance, z, shape);
}

void split_encoding_gradient(const float* head, const float* mean_gradient,
                             const float* log_variance_gradient, const float* z_gradient,
                             float* head_gradient, const LatentShape& shape, cudaStream_t stream) {
  const int64_t count = shape.images * shape.latents;
  if (count == 0) return;
  split_gradient<<<blocks_for(count), threads, 0, stream>>>(
      head, mean_gradient, log_variance_gradient, z_gradient, head_gradient, shape);
}

void sample_latent(const float* mean, const float* log_variance, float* z, int64_t count,
                   uint64_t key, const int64_t* step, cudaStream_t stream) {
  if (count == 0) return;
  sample<<<blocks_for(count), threads, 0, stream>>>(mean, log_variance, z, count, key, step);
}

void sample_latent_gradient(const float* log_variance, const float* z_gradient,
                            float* log_variance_gradient, int64_t count, uint64_t key,
                            const int64_t* step, cudaStream_t stream) {
  if (count == 0) return;
  sample_gradient<<<blocks_for(count), threads, 0, stream>>>(
      log_variance, z_gradient, log_variance_gradient, count, key, step);
}

void standard_normal_kl(const float* mean, const float* log_variance, float* kl, int64_t images,
                        int64_t latents, cudaStream_t stream) {
  if (images == 0) return;
  normal_kl<<<blocks_for(32 * images), threads, 0, stream>>>(mean, log_variance, kl, images,
                                                             latents);
}

void standard_normal_kl_gradient(const float* mean, const float* log_variance,
                                 const float* kl_gradient, int64_t kl_gradient_stride,
                                 float* mean_gradient, float* log_variance_gradient, int64_t images,
                                 int64_t latents, cudaStream_t stream) {
  if (images * latents == 0) return;
  normal_kl_gradient<<<blocks_for(images * latents), threads, 0, stream>>>(
      mean, log_variance, kl_gradient, kl_gradient_stride, mean_gradient, log_variance_gradient,
      images, latents);
}

}  // namespace facet::cuda
