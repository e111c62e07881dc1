// The E-step's sums over the images of a batch, and the natural-gradient step
// (eq:natural-gradients, eq:lambda-update). Per component and dimension the sums are
// responsibilities times 1, mean and E[z^2]: three matrix products with the same left operand.
#pragma once

#include "facet/cuda/prior_softmax.cuh"

namespace facet::cuda::prior_kernels {

/// What a responsibility is made of, read before its use so that the loads overlap.
struct ResponsibilityParts {
  bool inside;
  int64_t component, label;
  double score, log_sum;

  /// By eight neighbouring threads per image, of which this one has component number `index`.
  __device__ __forceinline__ ResponsibilityParts(const PriorFactor& factor, int64_t images,
                                                 int64_t image, int64_t first_component, int index)
      : component(first_component + index) {
    const int64_t K = factor.components;
    inside = image < images && component < K;
    score = inside ? factor.log_normal[image * K + component] + factor.log_weights[component] : 0.0;
    label = inside ? label_of(factor, image) : -1;
    log_sum = log_normaliser<side>(factor, images, image, index);
  }
  __device__ __forceinline__ double value() const {
    if (!inside) return 0.0;
    return label >= 0 ? static_cast<double>(component == label) : exp(score - log_sum);
  }
};

/// Sums over images for 8 components and 64 dimensions.
struct BatchSums {
  enum { counts, first_moments, second_moments, all };
  Tile tiles[all] = {};
};

/// Adds the responsibilities of 64 images times 1, mean and E[z^2].
template <Encodings encodings>
__device__ __forceinline__ void add_images(const Position& position,
                                           const EncodingRegisters<encodings>& encoding,
                                           const double (&gamma)[side][padded], BatchSums& sums) {
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    const double a = gamma[position.row][position.inner() + 4 * step];
    add_product(sums.tiles[BatchSums::counts], a, 1.0);
    add_product(sums.tiles[BatchSums::first_moments], a, encoding.mean(step));
    add_product(sums.tiles[BatchSums::second_moments], a, encoding.second_moment(step));
  }
}

/// As torch::lerp: exact at both ends.
__device__ __forceinline__ double moved(double from, double to, double rho) {
  return rho < 0.5 ? from + rho * (to - from) : to - (to - from) * (1.0 - rho);
}

/// lambda <- (1 - rho) lambda + rho lambda* of a thread's component and its two dimensions.
__device__ __forceinline__ void move_parameters(const PriorFactor& factor, const NaturalStep& step,
                                                double rho, int64_t component, int64_t first_d,
                                                const BatchSums& sums) {
  const int64_t D = factor.dimensions;
  const double count = step.scale * sums.tiles[BatchSums::counts].left;
  for (int i = 0; i < 2; ++i) {
    const int64_t d = first_d + i, at = component * D + d;
    if (component >= factor.components || d >= D) continue;
    const double first = sums.tiles[BatchSums::first_moments][i];
    const double second = sums.tiles[BatchSums::second_moments][i];
    const double log_alpha = factor.log_alpha[at], alpha = factor.alpha[at],
                 alpha_mu = factor.alpha_mu[at], alpha_mu2 = factor.alpha_mu2[at];
    const double m0 = factor.m0[d], s0 = factor.s0[d];
    factor.log_alpha[at] = moved(log_alpha, factor.a0[d] + 0.5 * count - 0.5, rho);
    factor.alpha[at] =
        moved(alpha, -(factor.b0[d] + 0.5 * s0 * m0 * m0 + 0.5 * step.scale * second), rho);
    factor.alpha_mu[at] = moved(alpha_mu, s0 * m0 + step.scale * first, rho);
    factor.alpha_mu2[at] = moved(alpha_mu2, -0.5 * (s0 + count), rho);
    if (d == 0) factor.counts[component] = moved(factor.counts[component], *factor.c0 + count, rho);
  }
}

/// Sums over all images and the step of 8 components per block.
template <Encodings encodings>
__global__ void __launch_bounds__(threads)
    update(const __grid_constant__ PriorBatch batch, NaturalStep step) {
  __shared__ double gamma[side][padded];
  __shared__ Tile second_half[threads / 2][BatchSums::all];

  const PriorFactor& factor = batch.factor[blockIdx.y];
  const int64_t D = factor.dimensions;
  const int64_t first_component = static_cast<int64_t>(blockIdx.x) * side;
  if (first_component >= factor.components) return;
  const Position position;
  const int thread = position.thread;
  const double rho = *step.rho;

  for (int64_t d0 = 0; d0 < D; d0 += stretch) {
    const int64_t d = d0 + position.tile() * side + position.row;
    BatchSums sums;
    for (int64_t b0 = 0; b0 < batch.images; b0 += stretch) {
      EncodingRegisters<encodings> encoding;
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        const int64_t image = b0 + position.inner() + 4 * i;
        encoding.load(factor, i, image, d, image < batch.images && d < D);
      }
      const ResponsibilityParts own(factor, batch.images, b0 + thread / side, first_component,
                                    thread % side);
      __syncthreads();  // the last images have been read
      gamma[thread % side][thread / side] = own.value();
      __syncthreads();
      add_images(position, encoding, gamma, sums);
    }
    add_halves(position, sums.tiles, second_half);
    if (position.has_sums())
      move_parameters(factor, step, rho, first_component + position.row,
                      d0 + position.warp * side + 2 * position.quarter, sums);
  }
}

}  // namespace facet::cuda::prior_kernels
