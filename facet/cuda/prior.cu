#include "facet/cuda/digamma.cuh"
#include "facet/cuda/prior.h"
#include "facet/cuda/reduce.cuh"

namespace facet::cuda {

namespace {

/// Sixteen warps a block: eight tiles of 8 x 8 numbers, each as two halves of its inner sum.
constexpr int threads = 512;
constexpr int side = 8;      ///< of a tile
constexpr int stretch = 64;  ///< images, components or dimensions that a block works on at a time
/// Inner length of a warp's product, and its steps of four.
constexpr int half = stretch / 2, steps = half / 4;
/// A row of doubles in shared memory; with this length tiles are read without conflicts.
constexpr int padded = stretch + 4;
/// More normalisers than this are joined by combine().
constexpr int most_tiles = 64;
constexpr int most_chunks = 64;

constexpr double log_two_pi = 1.8378770664093454836;

__host__ __device__ int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

__host__ __device__ int64_t tiles_of(int64_t components) { return divided_up(components, side); }

/// How many normalisers terms() and update() find: one a tile, or one where combine() was there.
__host__ __device__ int64_t normalisers_of(int64_t components) {
  const int64_t tiles = tiles_of(components);
  return tiles > most_tiles ? 1 : tiles;
}

/// terms() cuts the components into chunks of this length.
__host__ __device__ int64_t chunk_length(int64_t components) {
  return components <= 2 * stretch
             ? 2 * stretch
             : divided_up(divided_up(components, most_chunks), stretch) * stretch;
}

/// How encodings are read.
template <Encodings encodings>
struct Reading;
template <>
struct Reading<Encodings::log_variances> {
  using Scalar = float;
  static constexpr float absent = -INFINITY;  ///< a spread that stands for no variance
  __device__ static double variance(float spread) { return expf(spread); }
  __device__ static double log_variance(float spread) { return spread; }
};
template <>
struct Reading<Encodings::variances> {
  using Scalar = double;
  static constexpr double absent = 0;
  __device__ static double variance(double spread) { return spread; }
  __device__ static double log_variance(double spread) { return log(spread); }
};

/// A thread's part of an 8 x 8 tile: row lane / 4, columns 2 (lane % 4) and the next.
struct Tile {
  double left, right;

  __device__ Tile& operator+=(const Tile& other) {
    left += other.left;
    right += other.right;
    return *this;
  }
};

/// tile += A B, A 8 x 4 with a = A[lane / 4][lane % 4], B 4 x 8 with b = B[lane % 4][lane / 4].
__device__ void add_product(Tile& tile, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(tile.left), "+d"(tile.right)
      : "d"(a), "d"(b));
}

/// Of one component and dimension: eq:Elogp = constant + linear mean + quadratic (mean^2 +
/// variance), summed over d.
struct Coefficients {
  double quadratic, linear, constant;
};
__device__ Coefficients coefficients_of(double log_alpha, double alpha, double alpha_mu,
                                        double alpha_mu2) {
  const double s = -2.0 * alpha_mu2, one_over_s = 1.0 / s;
  const double m = alpha_mu * one_over_s, a = log_alpha + 0.5;
  const double b = -alpha - 0.5 * s * m * m, one_over_b = 1.0 / b;
  const double precision = a * one_over_b;  // E[alpha]
  const SplitDigamma parts = split_digamma(a);
  const double log_precision = log(parts.shifted * one_over_b) + parts.rest;  // E[log alpha]
  return {-0.5 * precision, m * precision,
          0.5 * (log_precision - log_two_pi - one_over_s - m * m * precision)};
}

/// tile_sums holds a normaliser for every tile of 8 components and image, the highest score h and
/// the sum of exp(score - h); and then the tiles' sums of pseudo-counts.
__device__ double2* normaliser_at(const PriorFactor& factor, int64_t images, int64_t tile,
                                  int64_t image) {
  return reinterpret_cast<double2*>(factor.tile_sums) + tile * images + image;
}
__device__ double* tile_counts(const PriorFactor& factor, int64_t images) {
  return factor.tile_sums + 2 * tiles_of(factor.components) * images;
}

/// eq:Elogp for 8 components and 64 images a block. One more warp computes the weights meanwhile.
template <Encodings encodings>
__global__ void __launch_bounds__(threads + 32) scores(const __grid_constant__ PriorBatch batch) {
  using Read = Reading<encodings>;
  using Scalar = typename Read::Scalar;
  __shared__ double quadratic[side][padded], linear[side][padded];
  __shared__ double constants[side][stretch / 32], weights[side];
  __shared__ Tile others[threads / 2];

  const PriorFactor& factor = batch.factor[blockIdx.z];
  const int64_t K = factor.components, D = factor.dimensions;
  const int64_t first_component = static_cast<int64_t>(blockIdx.x) * side;
  if (first_component >= K) return;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int row = lane / 4, quarter = lane % 4;
  const bool worker = thread < threads, first_images = blockIdx.y == 0;
  const int64_t image = static_cast<int64_t>(blockIdx.y) * stretch + warp % side * side + row;
  const bool known_image = worker && image < batch.images;

  if (!worker) {
    const int64_t component = first_component + lane;
    const bool known = lane < side && component < K;
    const double count = known ? factor.counts[component] : 0.0;
    const double weight = known ? digamma(count) : -INFINITY;
    const double total = warp_sum(count);
    if (lane < side) weights[lane] = weight;
    if (known && first_images) factor.log_weights[component] = weight;
    if (lane == 0 && first_images) tile_counts(factor, batch.images)[blockIdx.x] = total;
    if (first_images && blockIdx.x == 0 && factor.tickets)
      for (int64_t i = lane; i < divided_up(batch.images, side); i += 32) factor.tickets[i] = 0;
  }

  double constant = 0;
  Tile score = {0, 0}, square_score = {0, 0};
  for (int64_t d0 = 0; d0 < D; d0 += stretch) {
    Scalar means[steps], spreads[steps];  // on their way while coefficients are computed
    if (worker) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const int64_t d = d0 + warp / side * half + 4 * step + quarter;
        const bool inside = known_image && d < D;
        const int64_t at = image * factor.row + d;
        means[step] = inside ? static_cast<const Scalar*>(factor.mean)[at] : Scalar(0);
        spreads[step] = inside ? static_cast<const Scalar*>(factor.spread)[at] : Read::absent;
      }
      const int k = thread / stretch, column = thread % stretch;
      const int64_t d = d0 + column, component = first_component + k;
      Coefficients own = {0, 0, 0};
      if (component < K && d < D) {
        const int64_t at = component * D + d;
        own = coefficients_of(factor.log_alpha[at], factor.alpha[at], factor.alpha_mu[at],
                              factor.alpha_mu2[at]);
        if (first_images && factor.coefficients) {
          factor.coefficients[2 * component * D + d] = own.quadratic;
          factor.coefficients[(2 * component + 1) * D + d] = own.linear;
        }
      }
      constant += own.constant;
      quadratic[k][column] = own.quadratic;
      linear[k][column] = own.linear;
    }
    __syncthreads();
    if (worker) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const int column = warp / side * half + 4 * step + quarter;
        const double mean = means[step];
        add_product(score, mean, linear[row][column]);
        add_product(square_score, fma(mean, mean, Read::variance(spreads[step])),
                    quadratic[row][column]);
      }
    }
    __syncthreads();  // before the next stretch is written
  }

  score += square_score;
  if (worker) {
    constant = warp_sum(constant);
    if (lane == 0) constants[thread / stretch][thread % stretch / 32] = constant;
    if (warp >= side) others[thread - threads / 2] = score;
  }
  __syncthreads();
  if (warp >= side) return;
  score += others[thread];
  const int k = 2 * quarter;
  const double left = score.left + constants[k][0] + constants[k][1],
               right = score.right + constants[k + 1][0] + constants[k + 1][1];
  if (known_image) {
    double* own = factor.log_normal + image * K + first_component + k;
    if (first_component + k < K) own[0] = left;
    if (first_component + k + 1 < K) own[1] = right;
  }
  // The four threads of an image have its scores of eight components; absent ones weigh nothing.
  const double x = left + weights[k], y = right + weights[k + 1];
  double highest = max(x, y);
  highest = max(highest, __shfl_xor_sync(whole_warp, highest, 1));
  highest = max(highest, __shfl_xor_sync(whole_warp, highest, 2));
  double sum = exp(x - highest) + exp(y - highest);
  sum += __shfl_xor_sync(whole_warp, sum, 1);
  sum += __shfl_xor_sync(whole_warp, sum, 2);
  if (known_image && quarter == 0)
    *normaliser_at(factor, batch.images, blockIdx.x, image) = {highest, sum};
}

/// The normalisers of one image joined into one, and the sum of all pseudo-counts; in the room of
/// the first tile.
__global__ void __launch_bounds__(threads) combine(const __grid_constant__ PriorBatch batch) {
  __shared__ double shared[32];
  const PriorFactor& factor = batch.factor[blockIdx.y];
  const int64_t tiles = tiles_of(factor.components), image = blockIdx.x;
  if (tiles <= most_tiles) return;
  double highest = -INFINITY, sum = 0;
  for (int64_t tile = threadIdx.x; tile < tiles; tile += threads)
    highest = max(highest, normaliser_at(factor, batch.images, tile, image)->x);
  highest = block_max(highest, shared);
  for (int64_t tile = threadIdx.x; tile < tiles; tile += threads) {
    const double2 own = *normaliser_at(factor, batch.images, tile, image);
    sum += own.y * exp(own.x - highest);
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *normaliser_at(factor, batch.images, 0, image) = {highest, sum};
  if (image != 0) return;
  double* counts = tile_counts(factor, batch.images);
  double total = 0;
  for (int64_t tile = threadIdx.x; tile < tiles; tile += threads) total += counts[tile];
  total = block_sum(total, shared);
  if (threadIdx.x == 0) counts[0] = total;
}

/// The logarithm of the softmax's normaliser of an image, from `width` threads side by side of
/// which this one is number `index`; at most eight normalisers a thread.
template <int width>
__device__ double log_normaliser(const PriorFactor& factor, int64_t images, int64_t image,
                                 int index) {
  constexpr int each = most_tiles / width;
  const int count = static_cast<int>(normalisers_of(factor.components));
  double2 own[each];
  double highest = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int tile = index + i * width;
    own[i] = tile < count && image < images ? *normaliser_at(factor, images, tile, image)
                                            : double2{-INFINITY, 0};
    highest = max(highest, own[i].x);
  }
#pragma unroll
  for (int offset = width / 2; offset > 0; offset /= 2)
    highest = max(highest, __shfl_xor_sync(whole_warp, highest, offset));
#pragma unroll
  for (int i = 0; i < each; ++i)
    if (own[i].y > 0) sum += own[i].y * exp(own[i].x - highest);
#pragma unroll
  for (int offset = width / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(whole_warp, sum, offset);
  return highest + log(sum);
}

__device__ int64_t label_of(const PriorFactor& factor, int64_t image) {
  const int64_t label = factor.labels ? factor.labels[image * factor.labels_stride] : -1;
  if (label >= factor.components) __trap();
  return label;
}

/// From expected coefficients of one image and dimension to the derivatives of its terms.
__device__ void write_derivatives(const PriorFactor& factor, int64_t image, int64_t d,
                                  double quadratic, double linear) {
  const int64_t D = factor.dimensions, at = image * factor.row + d;
  const double mean = static_cast<const float*>(factor.mean)[at];
  const double variance =
      Reading<Encodings::log_variances>::variance(static_cast<const float*>(factor.spread)[at]);
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

/// The numbers of one image that its terms are made of.
struct ImageSums {
  double expected;  ///< of eq:Elogp under the responsibilities
  double entropy;   ///< of q(z|x)
  double log_sum;   ///< of the softmax
};
__device__ void write_terms(const PriorFactor& factor, int64_t image, const ImageSums& sums,
                            double digamma_of_total) {
  const int64_t label = label_of(factor, image);
  const double at_label = label >= 0 ? factor.log_normal[image * factor.components + label] : 0;
  factor.kl_z[image] = -(label >= 0 ? at_label : sums.expected) - sums.entropy;
  // The softmax has no need of digamma(sum c), which E[log pi] = digamma(c) - digamma(sum c) has;
  // log gamma = log_normal + digamma(c) - log_sum.
  factor.kl_r[image] =
      digamma_of_total + (label >= 0 ? -factor.log_weights[label] : sums.expected - sums.log_sum);
  factor.label_log_likelihood[image] =
      label >= 0 ? at_label + factor.log_weights[label] - sums.log_sum : 0.0;
}

/// Responsibilities and coefficients averaged over them, for 8 images and a chunk of the
/// components; the last block of an image adds the chunks, in their order, and writes the terms.
template <Encodings encodings>
__global__ void __launch_bounds__(threads) terms(const __grid_constant__ PriorBatch batch) {
  using Read = Reading<encodings>;
  __shared__ double allocation[side][padded];
  __shared__ double log_sums[side], entropies[side], expecteds[side][stretch / 32];
  __shared__ double digamma_of_total;
  __shared__ Tile others[threads / 2][2];
  __shared__ bool last;

  const PriorFactor& factor = batch.factor[blockIdx.z];
  const int64_t K = factor.components, D = factor.dimensions;
  const int64_t length = chunk_length(K), chunks = divided_up(K, length);
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * length;
  if (begin >= K) return;
  const int64_t end = begin + length < K ? begin + length : K;
  const int64_t first_image = static_cast<int64_t>(blockIdx.y) * side;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int row = lane / 4, quarter = lane % 4;
  const bool derivatives = encodings == Encodings::log_variances && factor.kl_mean;
  // Chunk c has room for the derivatives of every image, and then for its expected eq:Elogp.
  const auto partial = [&](int64_t chunk, int64_t image) {
    return factor.partials + (chunk * batch.images + image) * (2 * D + 1);
  };

  if (warp < side) {
    const int64_t image = first_image + warp;
    const double log_sum = log_normaliser<32>(factor, batch.images, image, lane);
    double entropy = 0;
    const auto* spread =
        static_cast<const typename Read::Scalar*>(factor.spread) + image * factor.row;
    if (image < batch.images)
      for (int64_t d = lane; d < D; d += 32)
        entropy += 0.5 * (Read::log_variance(spread[d]) + log_two_pi + 1.0);
    entropy = warp_sum(entropy);
    if (lane == 0) log_sums[warp] = log_sum, entropies[warp] = entropy;
  } else if (warp == side) {
    const double* counts = tile_counts(factor, batch.images);
    double total = 0;
    for (int64_t tile = lane; tile < normalisers_of(K); tile += 32) total += counts[tile];
    total = warp_sum(total);
    if (lane == 0) digamma_of_total = digamma(total);
  }

  const int own_row = thread / stretch, own_column = thread % stretch;
  const int64_t own_image = first_image + own_row;
  const int64_t label = own_image < batch.images ? label_of(factor, own_image) : -1;
  double expected = 0;
  for (int64_t d0 = 0; d0 == 0 || (derivatives && d0 < D); d0 += stretch) {
    const int64_t column = d0 + warp % side * side + row;  // of the coefficients
    Tile quadratic = {0, 0}, linear = {0, 0};
    for (int64_t k0 = begin; k0 < end; k0 += stretch) {
      double quadratics[steps], linears[steps];  // on their way while the softmax is computed
      if (derivatives) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
          const int64_t component = k0 + warp / side * half + 4 * step + quarter;
          const bool inside = component < end && column < D;
          const double* own = factor.coefficients + 2 * component * D + column;
          quadratics[step] = inside ? own[0] : 0.0;
          linears[step] = inside ? own[D] : 0.0;
        }
      }
      const int64_t component = k0 + own_column;
      const bool inside = own_image < batch.images && component < end;
      const double score = inside ? factor.log_normal[own_image * K + component] : 0.0;
      const double weight = inside ? factor.log_weights[component] : 0.0;
      __syncthreads();
      const double g = inside ? exp(score + weight - log_sums[own_row]) : 0.0;
      allocation[own_row][own_column] = g;
      if (inside && d0 == 0) {
        expected += g * score;
        factor.responsibilities[own_image * K + component] =
            label >= 0 ? static_cast<double>(component == label) : g;
      }
      __syncthreads();
      if (derivatives) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
          const double a = allocation[row][warp / side * half + 4 * step + quarter];
          add_product(quadratic, a, quadratics[step]);
          add_product(linear, a, linears[step]);
        }
      }
    }
    if (!derivatives) continue;
    if (warp >= side) {
      others[thread - threads / 2][0] = quadratic;
      others[thread - threads / 2][1] = linear;
    }
    __syncthreads();
    if (warp >= side) continue;
    quadratic += others[thread][0];
    linear += others[thread][1];
    const int64_t image = first_image + row;
    for (int i = 0; i < 2; ++i) {
      const int64_t d = d0 + warp * side + 2 * quarter + i;
      if (d >= D || image >= batch.images) continue;
      const double q = i == 0 ? quadratic.left : quadratic.right,
                   l = i == 0 ? linear.left : linear.right;
      if (chunks == 1) {
        write_derivatives(factor, image, d, q, l);
      } else {
        partial(blockIdx.x, image)[d] = q;
        partial(blockIdx.x, image)[D + d] = l;
      }
    }
  }
  expected = warp_sum(expected);
  if (lane == 0) expecteds[own_row][own_column / 32] = expected;
  __syncthreads();
  const int64_t image = first_image + thread;
  const bool speaker = thread < side && image < batch.images;
  if (speaker) {
    expected = expecteds[thread][0] + expecteds[thread][1];
    if (chunks == 1)
      write_terms(factor, image, {expected, entropies[thread], log_sums[thread]}, digamma_of_total);
    else
      partial(blockIdx.x, image)[2 * D] = expected;
  }
  if (chunks == 1) return;

  __threadfence();
  __syncthreads();
  if (thread == 0) last = atomicAdd(&factor.tickets[blockIdx.y], 1u) == chunks - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  const auto total = [&](int64_t of_image, int64_t at) {
    double sum = 0;
#pragma unroll 8
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += __ldcg(partial(chunk, of_image) + at);
    return sum;
  };
  if (speaker)
    write_terms(factor, image, {total(image, 2 * D), entropies[thread], log_sums[thread]},
                digamma_of_total);
  if constexpr (encodings == Encodings::log_variances) {
    for (int64_t i = thread; derivatives && i < side * D; i += threads) {
      const int64_t of_image = first_image + i / D, d = i % D;
      if (of_image < batch.images)
        write_derivatives(factor, of_image, d, total(of_image, d), total(of_image, D + d));
    }
  }
}

__global__ void __launch_bounds__(threads)
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

/// As torch::lerp: exact at both ends.
__device__ double moved(double from, double to, double rho) {
  return rho < 0.5 ? from + rho * (to - from) : to - (to - from) * (1.0 - rho);
}

/// Sums over the images for 8 components, and their natural-gradient step.
template <Encodings encodings>
__global__ void __launch_bounds__(threads)
    update(const __grid_constant__ PriorBatch batch, NaturalStep step) {
  using Read = Reading<encodings>;
  using Scalar = typename Read::Scalar;
  __shared__ double gamma[side][padded];
  __shared__ Tile others[threads / 2][3];

  const PriorFactor& factor = batch.factor[blockIdx.y];
  const int64_t K = factor.components, D = factor.dimensions;
  const int64_t first_component = static_cast<int64_t>(blockIdx.x) * side;
  if (first_component >= K) return;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int row = lane / 4, quarter = lane % 4;
  const double rho = *step.rho;

  for (int64_t d0 = 0; d0 < D; d0 += stretch) {
    const int64_t column = d0 + warp % side * side + row;  // of the encodings
    Tile counts = {0, 0}, first = {0, 0}, second = {0, 0};
    for (int64_t b0 = 0; b0 < batch.images; b0 += stretch) {
      Scalar means[steps], spreads[steps];  // on their way while the softmax is computed
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        const int64_t image = b0 + warp / side * half + 4 * i + quarter;
        const bool inside = image < batch.images && column < D;
        const int64_t at = image * factor.row + column;
        means[i] = inside ? static_cast<const Scalar*>(factor.mean)[at] : Scalar(0);
        spreads[i] = inside ? static_cast<const Scalar*>(factor.spread)[at] : Read::absent;
      }
      // Eight threads have one image, each with one of the components.
      const int64_t own_image = b0 + thread / side, component = first_component + thread % side;
      const bool inside = own_image < batch.images && component < K;
      const double score =
          inside ? factor.log_normal[own_image * K + component] + factor.log_weights[component]
                 : 0.0;
      const int64_t label = inside ? label_of(factor, own_image) : -1;
      const double log_sum = log_normaliser<side>(factor, batch.images, own_image, thread % side);
      __syncthreads();  // until the last images are done with
      gamma[thread % side][thread / side] = !inside      ? 0.0
                                            : label >= 0 ? static_cast<double>(component == label)
                                                         : exp(score - log_sum);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        const double a = gamma[row][warp / side * half + 4 * i + quarter];
        const double mean = means[i];
        add_product(counts, a, 1.0);
        add_product(first, a, mean);
        add_product(second, a, fma(mean, mean, Read::variance(spreads[i])));
      }
    }
    if (warp >= side) {
      others[thread - threads / 2][0] = counts;
      others[thread - threads / 2][1] = first;
      others[thread - threads / 2][2] = second;
    }
    __syncthreads();
    if (warp >= side) continue;
    counts += others[thread][0];
    first += others[thread][1];
    second += others[thread][2];
    const int64_t component = first_component + row;
    const double held = step.scale * counts.left;
    for (int i = 0; i < 2; ++i) {
      const int64_t d = d0 + warp * side + 2 * quarter + i, at = component * D + d;
      if (component >= K || d >= D) continue;
      const double first_sum = i == 0 ? first.left : first.right,
                   second_sum = i == 0 ? second.left : second.right;
      const double log_alpha = factor.log_alpha[at], alpha = factor.alpha[at],
                   alpha_mu = factor.alpha_mu[at], alpha_mu2 = factor.alpha_mu2[at];
      factor.log_alpha[at] = moved(log_alpha, step.a0 + 0.5 * held - 0.5, rho);
      factor.alpha[at] = moved(
          alpha, -(step.b0 + 0.5 * step.s0 * step.m0 * step.m0 + 0.5 * step.scale * second_sum),
          rho);
      factor.alpha_mu[at] = moved(alpha_mu, step.s0 * step.m0 + step.scale * first_sum, rho);
      factor.alpha_mu2[at] = moved(alpha_mu2, -0.5 * (step.s0 + held), rho);
      if (d == 0) factor.counts[component] = moved(factor.counts[component], step.c0 + held, rho);
    }
  }
}

int64_t most(const PriorBatch& batch, int64_t PriorFactor::*size) {
  int64_t result = 0;
  for (int i = 0; i < batch.count; ++i)
    if (batch.factor[i].*size > result) result = batch.factor[i].*size;
  return result;
}

unsigned blocks(int64_t count, int64_t of) { return static_cast<unsigned>(divided_up(count, of)); }

template <Encodings encodings>
void launch_scores(const PriorBatch& batch, cudaStream_t stream) {
  const int64_t tiles = tiles_of(most(batch, &PriorFactor::components));
  const auto factors = static_cast<unsigned>(batch.count);
  const dim3 grid(static_cast<unsigned>(tiles), blocks(batch.images, stretch), factors);
  scores<encodings><<<grid, threads + 32, 0, stream>>>(batch);
  if (tiles > most_tiles)
    combine<<<dim3(static_cast<unsigned>(batch.images), factors), threads, 0, stream>>>(batch);
}

template <Encodings encodings>
void launch_terms(const PriorBatch& batch, cudaStream_t stream) {
  launch_scores<encodings>(batch, stream);
  int64_t chunks = 1;
  for (int i = 0; i < batch.count; ++i) {
    const int64_t components = batch.factor[i].components;
    const int64_t own = divided_up(components, chunk_length(components));
    if (own > chunks) chunks = own;
  }
  const dim3 grid(static_cast<unsigned>(chunks), blocks(batch.images, side),
                  static_cast<unsigned>(batch.count));
  terms<encodings><<<grid, threads, 0, stream>>>(batch);
}

template <Encodings encodings>
void launch_update(const PriorBatch& batch, const NaturalStep& step, cudaStream_t stream) {
  launch_scores<encodings>(batch, stream);
  const dim3 grid(static_cast<unsigned>(tiles_of(most(batch, &PriorFactor::components))),
                  static_cast<unsigned>(batch.count));
  update<encodings><<<grid, threads, 0, stream>>>(batch, step);
}

}  // namespace

int64_t tile_numbers(int64_t images, int64_t components) {
  return (2 * images + 1) * tiles_of(components);
}

int64_t partial_numbers(int64_t images, int64_t components, int64_t dimensions) {
  const int64_t chunks = divided_up(components, chunk_length(components));
  return chunks == 1 ? 0 : chunks * images * (2 * dimensions + 1);
}

int64_t ticket_numbers(int64_t images) { return divided_up(images, side); }

void prior_terms(const PriorBatch& batch, Encodings encodings, cudaStream_t stream) {
  if (batch.count == 0 || batch.images == 0) return;
  if (encodings == Encodings::variances)
    launch_terms<Encodings::variances>(batch, stream);
  else
    launch_terms<Encodings::log_variances>(batch, stream);
}

void prior_terms_gradient(const PriorBatch& batch, const TermGradients& gradients,
                          cudaStream_t stream) {
  if (batch.count == 0 || batch.images == 0) return;
  const int64_t numbers = batch.images * most(batch, &PriorFactor::dimensions);
  terms_gradient<<<dim3(blocks(numbers, threads), static_cast<unsigned>(batch.count)), threads, 0,
                   stream>>>(batch, gradients);
}

void prior_update(const PriorBatch& batch, Encodings encodings, const NaturalStep& step,
                  cudaStream_t stream) {
  if (batch.count == 0 || batch.images == 0) return;
  if (encodings == Encodings::variances)
    launch_update<Encodings::variances>(batch, step, stream);
  else
    launch_update<Encodings::log_variances>(batch, step, stream);
}

}  // namespace facet::cuda
