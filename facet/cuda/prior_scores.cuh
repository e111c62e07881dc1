// eq:Elogp for every image and component, [B, K]. Summed over dimensions it is a constant plus
// coefficients times mean and E[z^2], so that the sum is two matrix products; the coefficients are
// made anew from the natural parameters each time.
#pragma once

#include "facet/cuda/digamma.cuh"
#include "facet/cuda/prior_softmax.cuh"

namespace facet::cuda::prior_kernels {

/// Of one component and dimension: eq:Elogp = constant + linear mean + quadratic (mean^2 +
/// variance), summed over d.
struct Coefficients {
  double quadratic, linear, constant;
};
__device__ __forceinline__ Coefficients coefficients_of(double log_alpha, double alpha,
                                                        double alpha_mu, double alpha_mu2) {
  const double s = -2.0 * alpha_mu2, one_over_s = 1.0 / s;
  const double m = alpha_mu * one_over_s, a = log_alpha + 0.5;
  const double b = -alpha - 0.5 * s * m * m, one_over_b = 1.0 / b;
  const double precision = a * one_over_b;  // E[alpha]
  const SplitDigamma parts = split_digamma(a);
  const double log_precision = log(parts.shifted * one_over_b) + parts.rest;  // E[log alpha]
  return {-0.5 * precision, m * precision,
          0.5 * (log_precision - log_two_pi - one_over_s - m * m * precision)};
}

/// Reads the natural parameters of one component and dimension; zeros past the end. Where a
/// gradient is wanted the coefficients are `kept` for terms().
__device__ __forceinline__ Coefficients read_coefficients(const PriorFactor& factor,
                                                          int64_t component, int64_t d, bool keep) {
  const int64_t D = factor.dimensions;
  if (component >= factor.components || d >= D) return {0, 0, 0};
  const int64_t at = component * D + d;
  const Coefficients own = coefficients_of(factor.log_alpha[at], factor.alpha[at],
                                           factor.alpha_mu[at], factor.alpha_mu2[at]);
  if (keep && factor.coefficients) {
    factor.coefficients[2 * component * D + d] = own.quadratic;
    factor.coefficients[(2 * component + 1) * D + d] = own.linear;
  }
  return own;
}

/// What one warp does while the others compute scores: digamma(c) of the block's components, their
/// sum of pseudo-counts, and the tickets of terms() back to 0.
__device__ __forceinline__ void compute_weights(const PriorFactor& factor, int64_t images,
                                                int64_t first_component, int lane,
                                                bool first_images, double (&weights)[side]) {
  const int64_t component = first_component + lane;
  const bool known = lane < side && component < factor.components;
  const double count = known ? factor.counts[component] : 0.0;
  const double* given = factor.expected_log_weights;
  const double weight = !known ? -INFINITY : given ? given[component] : digamma(count);
  const double total = warp_sum(count);
  if (lane < side) weights[lane] = weight;
  if (known && first_images) factor.log_weights[component] = weight;
  if (lane == 0 && first_images) tile_counts(factor, images)[blockIdx.x] = total;
  if (first_images && blockIdx.x == 0 && factor.tickets)
    for (int64_t i = lane; i < divide_up(images, side); i += 32) factor.tickets[i] = 0;
}

/// The normaliser of eight weighted scores of an image, which four neighbouring threads have, two
/// each. Components past the end have -infinity and add nothing.
__device__ __forceinline__ double2 tile_normaliser(double x, double y) {
  double highest = max(x, y);
  highest = max(highest, __shfl_xor_sync(whole_warp, highest, 1));
  highest = max(highest, __shfl_xor_sync(whole_warp, highest, 2));
  double sum = exp(x - highest) + exp(y - highest);
  sum += __shfl_xor_sync(whole_warp, sum, 1);
  sum += __shfl_xor_sync(whole_warp, sum, 2);
  return {highest, sum};
}

/// Writes the finished scores of one image for a thread's two components, and the normaliser of the
/// tile.
__device__ __forceinline__ void write_scores(const PriorFactor& factor, int64_t images,
                                             int64_t image, int64_t first_component, int quarter,
                                             double left, double right,
                                             const double (&weights)[side]) {
  const int64_t K = factor.components, component = first_component + 2 * quarter;
  if (image < images) {
    double* own = factor.log_normal + image * K + component;
    if (component < K) own[0] = left;
    if (component + 1 < K) own[1] = right;
  }
  const double2 normaliser =
      tile_normaliser(left + weights[2 * quarter], right + weights[2 * quarter + 1]);
  if (image < images && quarter == 0)
    *normaliser_at(factor, images, blockIdx.x, image) = normaliser;
}

/// Scores of 8 components and 64 images per block, by 16 warps; one more warp has the weights.
template <Encodings encodings>
__global__ void __launch_bounds__(threads + 32) scores(const __grid_constant__ PriorBatch batch) {
  __shared__ double quadratic[side][padded], linear[side][padded];
  __shared__ double constants[side][stretch / 32], weights[side];
  __shared__ Tile second_half[threads / 2];

  const PriorFactor& factor = batch.factor[blockIdx.z];
  const int64_t K = factor.components, D = factor.dimensions;
  const int64_t first_component = static_cast<int64_t>(blockIdx.x) * side;
  if (first_component >= K) return;
  const Position position;
  const int row = position.row, thread = position.thread;
  const int k = thread / stretch, column = thread % stretch;  // the coefficient of this thread
  const bool worker = thread < threads, first_images = blockIdx.y == 0;
  const int64_t image = static_cast<int64_t>(blockIdx.y) * stretch + position.tile() * side + row;
  const bool known_image = worker && image < batch.images;
  if (!worker)
    compute_weights(factor, batch.images, first_component, position.lane, first_images, weights);

  double constant = 0;
  Tile score = {0, 0}, square_score = {0, 0};
  for (int64_t d0 = 0; d0 < D; d0 += stretch) {
    EncodingRegisters<encodings> encoding;
    if (worker) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const int64_t d = d0 + position.inner() + 4 * step;
        encoding.load(factor, step, image, d, known_image && d < D);
      }
      const Coefficients own =
          read_coefficients(factor, first_component + k, d0 + column, first_images);
      constant += own.constant;
      quadratic[k][column] = own.quadratic;
      linear[k][column] = own.linear;
    }
    __syncthreads();
    if (worker) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const int inner = position.inner() + 4 * step;
        add_product(score, encoding.mean(step), linear[row][inner]);
        add_product(square_score, encoding.second_moment(step), quadratic[row][inner]);
      }
    }
    __syncthreads();  // before the next stretch is written
  }

  score += square_score;
  if (worker) {
    constant = warp_sum(constant);
    if (position.lane == 0) constants[k][column / 32] = constant;
    if (!position.has_sums()) second_half[thread - threads / 2] = score;
  }
  __syncthreads();
  if (!position.has_sums()) return;
  score += second_half[thread];
  const int a = 2 * position.quarter, b = a + 1;  // the tile's columns of this thread
  write_scores(factor, batch.images, image, first_component, position.quarter,
               score.left + constants[a][0] + constants[a][1],
               score.right + constants[b][0] + constants[b][1], weights);
}

}  // namespace facet::cuda::prior_kernels
