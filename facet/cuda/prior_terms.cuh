// Responsibilities (eq:resp) and the terms of the bound per image, with their derivatives by the
// encoding: responsibilities times coefficients, as a matrix product. Many components are cut into
// chunks, one per block; the last block of an image adds the chunks' sums in their order.
#pragma once

#include "facet/cuda/digamma.cuh"
#include "facet/cuda/prior_softmax.cuh"

namespace facet::cuda::prior_kernels {

constexpr int most_chunks = 64;

__host__ __device__ inline int64_t chunk_length(int64_t components) {
  return components <= 2 * stretch
             ? 2 * stretch
             : divide_up(divide_up(components, most_chunks), stretch) * stretch;
}
__host__ __device__ inline int64_t chunks_of(int64_t components) {
  return divide_up(components, chunk_length(components));
}

/// What one block works on: 8 images and a chunk of a factor's components.
struct TermsBlock {
  const PriorBatch& batch;
  const PriorFactor& factor;
  int64_t K, D, first_image, begin, end, chunks;

  __device__ explicit TermsBlock(const PriorBatch& all)
      : batch(all),
        factor(all.factor[blockIdx.z]),
        K(factor.components),
        D(factor.dimensions),
        first_image(static_cast<int64_t>(blockIdx.y) * side) {
    const int64_t length = chunk_length(K);
    chunks = divide_up(K, length);
    begin = static_cast<int64_t>(blockIdx.x) * length;
    end = begin + length < K ? begin + length : K;
  }
  /// Room of a chunk and an image: expected coefficients, [2, D], and expected eq:Elogp.
  __device__ double* partial(int64_t chunk, int64_t image) const {
    return factor.partials + (chunk * batch.images + image) * (2 * D + 1);
  }
  /// A number of that room, summed over the chunks.
  __device__ double total(int64_t image, int64_t at) const {
    double sum = 0;
#pragma unroll 8
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += __ldcg(partial(chunk, image) + at);
    return sum;
  }
};

/// From expected coefficients of one image and dimension to the derivatives of its terms.
__device__ __forceinline__ void write_derivatives(const PriorFactor& factor, int64_t image,
                                                  int64_t d, double quadratic, double linear) {
  using Format = EncodingFormat<Encodings::log_variances>;
  const int64_t D = factor.dimensions, at = image * factor.row + d;
  const double mean = static_cast<const float*>(factor.mean)[at];
  const double variance = Format::variance(static_cast<const float*>(factor.spread)[at]);
  const int64_t label = label_of(factor, image);
  // Labelled images have the responsibilities of their label.
  const double* own = factor.coefficients + 2 * label * D + d;
  const double kl_quadratic = label >= 0 ? own[0] : quadratic;
  const double kl_linear = label >= 0 ? own[D] : linear;
  const double kl_slope = kl_linear + 2.0 * kl_quadratic * mean;
  factor.kl_mean[at] = static_cast<float>(-kl_slope);
  factor.kl_spread[at] = static_cast<float>(-variance * kl_quadratic - 0.5);
  if (!factor.label_mean) return;
  const double slope = linear + 2.0 * quadratic * mean;
  factor.label_mean[at] = label >= 0 ? static_cast<float>(kl_slope - slope) : 0.0f;
  factor.label_spread[at] =
      label >= 0 ? static_cast<float>(variance * (kl_quadratic - quadratic)) : 0.0f;
}

/// What the terms of the block's images are made of besides expected eq:Elogp, in shared memory.
struct ImageSums {
  double (&log_sums)[side];   ///< of the softmax
  double (&entropies)[side];  ///< of q(z|x)
  double& digamma_of_total;   ///< of all pseudo-counts
};

/// A warp per image computes its normaliser and entropy, the next warp digamma(sum c).
template <Encodings encodings>
__device__ __forceinline__ void compute_image_sums(const TermsBlock& block,
                                                   const Position& position,
                                                   const ImageSums& sums) {
  using Format = EncodingFormat<encodings>;
  const PriorFactor& factor = block.factor;
  const int warp = position.warp, lane = position.lane;
  if (warp < side) {
    const int64_t image = block.first_image + warp;
    const double log_sum = log_normaliser<32>(factor, block.batch.images, image, lane);
    double entropy = 0;
    const auto* spread =
        static_cast<const typename Format::Scalar*>(factor.spread) + image * factor.row;
    if (image < block.batch.images)
      for (int64_t d = lane; d < block.D; d += 32)
        entropy += 0.5 * (Format::log_variance(spread[d]) + log_two_pi + 1.0);
    entropy = warp_sum(entropy);
    if (lane == 0) sums.log_sums[warp] = log_sum, sums.entropies[warp] = entropy;
  } else if (warp == side) {
    const double* counts = tile_counts(factor, block.batch.images);
    double total = 0;
    for (int64_t tile = lane; tile < normalisers_of(block.K); tile += 32) total += counts[tile];
    total = warp_sum(total);
    // Weights that were given are E[log pi] already.
    if (lane == 0) sums.digamma_of_total = factor.expected_log_weights ? 0.0 : digamma(total);
  }
}

/// The terms of image number `index` of the block, from its eq:Elogp expected under the
/// responsibilities.
__device__ __forceinline__ void write_terms(const TermsBlock& block, int index, double expected,
                                            const ImageSums& sums) {
  const PriorFactor& factor = block.factor;
  const int64_t image = block.first_image + index;
  const double log_sum = sums.log_sums[index];
  const int64_t label = label_of(factor, image);
  const double at_label = label >= 0 ? factor.log_normal[image * factor.components + label] : 0;
  factor.kl_z[image] = -(label >= 0 ? at_label : expected) - sums.entropies[index];
  // The softmax has no need of digamma(sum c), which E[log pi] = digamma(c) - digamma(sum c) has;
  // log gamma = log_normal + digamma(c) - log_sum.
  factor.kl_r[image] =
      sums.digamma_of_total + (label >= 0 ? -factor.log_weights[label] : expected - log_sum);
  factor.label_log_likelihood[image] =
      label >= 0 ? at_label + factor.log_weights[label] - log_sum : 0.0;
}

/// The coefficients that a thread multiplies, on their way while the softmax is computed.
struct CoefficientRegisters {
  double quadratics[steps], linears[steps];

  __device__ __forceinline__ void load(const TermsBlock& block, const Position& position,
                                       int64_t k0, int64_t d) {
    const int64_t D = block.D;
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int64_t component = k0 + position.inner() + 4 * step;
      const bool inside = component < block.end && d < D;
      const double* own = block.factor.coefficients + 2 * component * D + d;
      quadratics[step] = inside ? own[0] : 0.0;
      linears[step] = inside ? own[D] : 0.0;
    }
  }
};

/// The image and the component of each stretch whose responsibility a thread computes.
struct SoftmaxCell {
  int row, column;
  int64_t image, label;

  __device__ SoftmaxCell(const TermsBlock& block, const Position& position)
      : row(position.thread / stretch),
        column(position.thread % stretch),
        image(block.first_image + row),
        label(image < block.batch.images ? label_of(block.factor, image) : -1) {}
};

/// One pass over the chunk's components, 64 at a time: the softmax of 8 images in shared memory
/// and, where derivatives are wanted, quadratic and linear coefficients averaged over it for the
/// 64 dimensions from d0. The first pass also writes responsibilities and sums expected eq:Elogp.
__device__ __forceinline__ void average_coefficients(
    const TermsBlock& block, const Position& position, const SoftmaxCell& cell, int64_t d0,
    bool derivatives, const double (&log_sums)[side], double (&softmax)[side][padded],
    Tile (&averages)[2], double& expected) {
  const PriorFactor& factor = block.factor;
  const int64_t K = block.K;
  for (int64_t k0 = block.begin; k0 < block.end; k0 += stretch) {
    CoefficientRegisters coefficients;
    if (derivatives)
      coefficients.load(block, position, k0, d0 + position.tile() * side + position.row);
    const int64_t component = k0 + cell.column;
    const bool inside = cell.image < block.batch.images && component < block.end;
    const double score = inside ? factor.log_normal[cell.image * K + component] : 0.0;
    const double weight = inside ? factor.log_weights[component] : 0.0;
    __syncthreads();  // the last stretch has been read; the first time, log_sums are there
    const double gamma = inside ? exp(score + weight - log_sums[cell.row]) : 0.0;
    softmax[cell.row][cell.column] = gamma;
    if (inside && d0 == 0) {
      expected += gamma * score;
      factor.responsibilities[cell.image * K + component] =
          cell.label >= 0 ? static_cast<double>(component == cell.label) : gamma;
    }
    __syncthreads();
    if (derivatives) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const double a = softmax[position.row][position.inner() + 4 * step];
        add_product(averages[0], a, coefficients.quadratics[step]);
        add_product(averages[1], a, coefficients.linears[step]);
      }
    }
  }
}

/// Derivatives from a thread's averages, or, where there are other chunks, its part of them.
__device__ __forceinline__ void write_averages(const TermsBlock& block, const Position& position,
                                               int64_t d0, const Tile (&averages)[2]) {
  const int64_t D = block.D, image = block.first_image + position.row;
  for (int i = 0; i < 2; ++i) {
    const int64_t d = d0 + position.warp * side + 2 * position.quarter + i;
    if (d >= D || image >= block.batch.images) continue;
    const double quadratic = averages[0][i], linear = averages[1][i];
    if (block.chunks == 1) {
      write_derivatives(block.factor, image, d, quadratic, linear);
    } else {
      block.partial(blockIdx.x, image)[d] = quadratic;
      block.partial(blockIdx.x, image)[D + d] = linear;
    }
  }
}

/// Whether all other chunks of these images are in memory.
__device__ __forceinline__ bool is_last_block(const TermsBlock& block) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&block.factor.tickets[blockIdx.y], 1u) == block.chunks - 1;
  __syncthreads();
  return last;
}

/// Terms and derivatives of 8 images from the sums over all chunks.
template <Encodings encodings>
__device__ __forceinline__ void add_chunks(const TermsBlock& block, int thread, bool has_image,
                                           bool derivatives, const ImageSums& sums) {
  const int64_t D = block.D;
  __threadfence();
  if (has_image) write_terms(block, thread, block.total(block.first_image + thread, 2 * D), sums);
  if constexpr (encodings == Encodings::log_variances) {
    for (int64_t i = thread; derivatives && i < side * D; i += threads) {
      const int64_t image = block.first_image + i / D, d = i % D;
      if (image < block.batch.images)
        write_derivatives(block.factor, image, d, block.total(image, d), block.total(image, D + d));
    }
  }
}

/// Responsibilities, terms and derivatives of 8 images and a chunk of the components per block.
template <Encodings encodings>
__global__ void __launch_bounds__(threads) terms(const __grid_constant__ PriorBatch batch) {
  __shared__ double softmax[side][padded];
  __shared__ double log_sums[side], entropies[side], expecteds[side][stretch / 32];
  __shared__ double digamma_of_total;
  __shared__ Tile second_half[threads / 2][2];

  const TermsBlock block(batch);
  if (block.begin >= block.K) return;
  const Position position;
  const ImageSums sums{log_sums, entropies, digamma_of_total};
  const bool derivatives = encodings == Encodings::log_variances && block.factor.kl_mean;
  compute_image_sums<encodings>(block, position, sums);

  const SoftmaxCell cell(block, position);
  double expected = 0;
  for (int64_t d0 = 0; d0 == 0 || (derivatives && d0 < block.D); d0 += stretch) {
    Tile averages[2] = {};
    average_coefficients(block, position, cell, d0, derivatives, log_sums, softmax, averages,
                         expected);
    if (!derivatives) continue;
    add_halves(position, averages, second_half);
    if (position.has_sums()) write_averages(block, position, d0, averages);
  }
  expected = warp_sum(expected);
  if (position.lane == 0) expecteds[cell.row][cell.column / 32] = expected;
  __syncthreads();

  // From here on the first threads have one image each.
  const int thread = position.thread;
  const bool has_image = thread < side && block.first_image + thread < block.batch.images;
  if (has_image) {
    expected = expecteds[thread][0] + expecteds[thread][1];
    if (block.chunks == 1)
      write_terms(block, thread, expected, sums);
    else
      block.partial(blockIdx.x, block.first_image + thread)[2 * block.D] = expected;
  }
  if (block.chunks > 1 && is_last_block(block))
    add_chunks<encodings>(block, thread, has_image, derivatives, sums);
}

/// The gradient by the encodings: derivatives of the terms times the gradients of the terms.
static __global__ void __launch_bounds__(threads)
    terms_gradient(const __grid_constant__ PriorBatch batch,
                   const __grid_constant__ TermGradients gradient) {
  const int index = static_cast<int>(blockIdx.y);
  const PriorFactor& factor = batch.factor[index];
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= batch.images * factor.dimensions) return;
  const int64_t image = i / factor.dimensions;
  const int64_t at = image * factor.row + i % factor.dimensions;
  double mean = 0, spread = 0;
  if (gradient.kl_z[index]) {
    const double of_kl = gradient.kl_z[index][image * gradient.kl_z_stride[index]];
    mean += of_kl * factor.kl_mean[at];
    spread += of_kl * factor.kl_spread[at];
  }
  if (gradient.label[index] && factor.label_mean) {
    const double of_label = gradient.label[index][image * gradient.label_stride[index]];
    mean += of_label * factor.label_mean[at];
    spread += of_label * factor.label_spread[at];
  }
  gradient.mean[index][at] = static_cast<float>(mean);
  gradient.spread[index][at] = static_cast<float>(spread);
}

}  // namespace facet::cuda::prior_kernels
