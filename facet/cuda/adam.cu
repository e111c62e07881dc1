// Adam's step in one launch, with the bf16 copy of the weights that the next forward pass reads,
// and the gradient's norm in two: partial sums per block, then their sum in one order.
#include <cuda_bf16.h>

#include "facet/cuda/adam.h"
#include "facet/cuda/reduce.cuh"

namespace facet::cuda {

namespace {

constexpr int threads = 256;
constexpr int norm_blocks = 256;

/// What a step needs besides the buffers.
struct Rates {
  float decay1, decay2;  ///< 1 - beta1 and beta2
  float gain2;           ///< 1 - beta2
  float correction2;     ///< 1 / sqrt(1 - beta2^step)
  float epsilon;
  float rate;  ///< -learning rate / (1 - beta1^step)
  float clip;  ///< factor that clips the gradient to its largest norm
  float kept;  ///< share of a parameter that weight decay leaves
};

__device__ Rates rates_of(const AdamSettings& settings) {
  const auto step = static_cast<double>(*settings.step);
  const double correction1 = 1.0 - pow(settings.beta1, step),
               correction2 = 1.0 - pow(settings.beta2, step);
  float clip = 1.0f;
  if (settings.clip_grad_norm > 0) {
    const auto ratio = static_cast<float>(settings.clip_grad_norm / *settings.norm);
    clip = ratio > 1.0f ? 1.0f : ratio;  // NaN stays NaN
  }
  return {static_cast<float>(1.0 - settings.beta1),
          static_cast<float>(settings.beta2),
          static_cast<float>(1.0 - settings.beta2),
          static_cast<float>(1.0 / sqrt(correction2)),
          static_cast<float>(settings.epsilon),
          static_cast<float>(-*settings.learning_rate / correction1),
          clip,
          static_cast<float>(1.0 - settings.weight_decay * *settings.learning_rate)};
}

__device__ float updated(float parameter, float gradient, float& first, float& second,
                         const Rates& rates) {
  gradient *= rates.clip;
  first += rates.decay1 * (gradient - first);
  second = rates.decay2 * second + rates.gain2 * gradient * gradient;
  return rates.kept * parameter +
         rates.rate * first / (sqrtf(second) * rates.correction2 + rates.epsilon);
}

/// Four parameters per thread; the last thread has the few that are left over. `weight_copy` is the
/// bf16 copy of the parameters and may be null.
__global__ void step(float* parameters, const float* gradients, float* first, float* second,
                     __nv_bfloat16* weight_copy, int64_t count, AdamSettings settings) {
  __shared__ Rates shared;
  if (threadIdx.x == 0) shared = rates_of(settings);
  const int64_t i = (static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x) * 4;
  const bool whole = i + 4 <= count;
  float4 p = {}, g = {}, m = {}, v = {};
  if (whole) {  // these loads overlap with rates_of
    p = *reinterpret_cast<const float4*>(parameters + i);
    g = *reinterpret_cast<const float4*>(gradients + i);
    m = *reinterpret_cast<const float4*>(first + i);
    v = *reinterpret_cast<const float4*>(second + i);
  }
  __syncthreads();
  const Rates rates = shared;
  if (whole) {
    p.x = updated(p.x, g.x, m.x, v.x, rates);
    p.y = updated(p.y, g.y, m.y, v.y, rates);
    p.z = updated(p.z, g.z, m.z, v.z, rates);
    p.w = updated(p.w, g.w, m.w, v.w, rates);
    *reinterpret_cast<float4*>(parameters + i) = p;
    *reinterpret_cast<float4*>(first + i) = m;
    *reinterpret_cast<float4*>(second + i) = v;
    if (weight_copy) {
      auto* pairs = reinterpret_cast<__nv_bfloat162*>(weight_copy + i);
      pairs[0] = __floats2bfloat162_rn(p.x, p.y);
      pairs[1] = __floats2bfloat162_rn(p.z, p.w);
    }
    return;
  }
  for (int64_t j = i; j < count; ++j) {
    parameters[j] = updated(parameters[j], gradients[j], first[j], second[j], rates);
    if (weight_copy) weight_copy[j] = __float2bfloat16_rn(parameters[j]);
  }
}

__global__ void square_sums(const float* gradients, int64_t count, double* partials) {
  __shared__ double shared[32];
  double sum = 0;
  const int64_t fours = count / 4;
  const auto* packed = reinterpret_cast<const float4*>(gradients);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x; i < fours;
       i += static_cast<int64_t>(norm_blocks) * threads) {
    const float4 g = packed[i];
    sum += static_cast<double>(g.x * g.x + g.y * g.y) + static_cast<double>(g.z * g.z + g.w * g.w);
  }
  if (blockIdx.x == 0 && threadIdx.x < count - 4 * fours) {
    const float g = gradients[4 * fours + threadIdx.x];
    sum += static_cast<double>(g) * g;
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void finish_norm(const double* partials, double* norm) {
  __shared__ double shared[32];
  const double sum = block_sum(partials[threadIdx.x], shared);
  if (threadIdx.x == 0) *norm = sqrt(sum);
}

}  // namespace

void adam_step(float* parameters, const float* gradients, float* first, float* second,
               uint16_t* weight_copy, int64_t count, const AdamSettings& settings,
               cudaStream_t stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + 4 * threads - 1) / (4 * threads));
  step<<<blocks, threads, 0, stream>>>(parameters, gradients, first, second,
                                       reinterpret_cast<__nv_bfloat16*>(weight_copy), count,
                                       settings);
}

int64_t norm_partials() { return norm_blocks; }

void gradient_norm(const float* gradients, int64_t count, double* partials, double* norm,
                   cudaStream_t stream) {
  square_sums<<<norm_blocks, threads, 0, stream>>>(gradients, count, partials);
  finish_norm<<<1, norm_blocks, 0, stream>>>(partials, norm);
}

}  // namespace facet::cuda
