#include "facet/cuda/digamma.cuh"
#include "facet/cuda/prior.h"
#include "facet/cuda/reduce.cuh"

namespace facet::cuda {

namespace {

constexpr int threads = 256;
/// Dimensions are worked on in stretches of this many.
constexpr int stretch = 64;
/// Most components of a block of scores().
constexpr int most_components = 8;
/// Images of a block of gradients(), and components that it works on at a time.
constexpr int gradient_images = 8;
constexpr int gradient_components = 32;
constexpr int most_chunks = 64;
/// Components of a block of update(), and images that it works on at a time.
constexpr int update_components = threads / stretch;
constexpr int update_images = 64;

constexpr double log_two_pi = 1.8378770664093454836;

__host__ __device__ int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// gradients() cuts the components into chunks of this length, at most most_chunks of them.
__host__ __device__ int64_t chunk_length(int64_t components) {
  return divided_up(divided_up(components, most_chunks), gradient_components) * gradient_components;
}

/// How encodings are read: the scalar type, and a block's images in scores() so that they fit.
template <Encodings encodings>
struct Reading;
template <>
struct Reading<Encodings::log_variances> {
  using Scalar = float;
  static constexpr int images = 64;
  __device__ static float variance(float spread) { return expf(spread); }
  __device__ static double log_variance(float spread) { return spread; }
};
template <>
struct Reading<Encodings::variances> {
  using Scalar = double;
  static constexpr int images = 32;
  __device__ static double variance(double spread) { return spread; }
  __device__ static double log_variance(double spread) { return log(spread); }
};

/// Of one component and dimension: E_q[log N] = constant + linear z + quadratic (z^2), summed over
/// d.
struct Coefficients {
  double quadratic, linear, constant;
};
__device__ Coefficients coefficients_of(const PriorFactor& factor, int64_t at) {
  const double s = -2.0 * factor.alpha_mu2[at];
  const double m = factor.alpha_mu[at] / s;
  const double a = factor.log_alpha[at] + 0.5;
  const double b = -factor.alpha[at] - 0.5 * s * m * m;
  const double precision = a / b;  // E[alpha]
  return {-0.5 * precision, m * precision,
          0.5 * (digamma(a) - log(b) - log_two_pi - 1.0 / s - m * m * precision)};
}

/// eq:Elogp for `tile` components and Reading::images images a block. One more warp than the
/// mapping needs computes the weights meanwhile.
template <Encodings encodings>
__global__ void __launch_bounds__(threads + 32)
    scores(const __grid_constant__ PriorBatch batch, int tile) {
  using Read = Reading<encodings>;
  using Scalar = typename Read::Scalar;
  constexpr int rows = Read::images, groups = threads / rows, each = most_components / groups;
  __shared__ double quadratic[most_components][stretch], linear[most_components][stretch];
  __shared__ double constants[most_components][stretch / 32];
  __shared__ Scalar means[rows][stretch + 1], variances[rows][stretch + 1];

  const PriorFactor& factor = batch.factor[blockIdx.z];
  const int64_t K = factor.components, D = factor.dimensions;
  const int64_t first_component = static_cast<int64_t>(blockIdx.x) * tile;
  const int64_t first_image = static_cast<int64_t>(blockIdx.y) * rows;
  if (first_component >= K) return;
  const int thread = static_cast<int>(threadIdx.x);
  const bool first_rows = blockIdx.y == 0;

  if (thread >= threads) {
    const int64_t component = first_component + thread - threads;
    if (first_rows && thread - threads < tile && component < K)
      factor.log_weights[component] = digamma(factor.counts[component]);
  }
  if (first_rows && blockIdx.x == 0 && factor.tickets)
    for (int64_t i = thread; i < divided_up(batch.images, gradient_images); i += threads + 32)
      factor.tickets[i] = 0;

  // Thread t computes coefficients of components t / stretch, + threads / stretch, ...
  constexpr int passes = most_components * stretch / threads;
  double constant[passes] = {}, sum[each] = {};
  for (int64_t d0 = 0; d0 < D; d0 += stretch) {
    __syncthreads();
    if (thread < threads) {
      const int64_t d = d0 + thread % stretch;
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        const int k = thread / stretch + pass * (threads / stretch);
        if (k >= tile) break;
        const int64_t component = first_component + k;
        Coefficients c = {0, 0, 0};
        if (component < K && d < D) {
          c = coefficients_of(factor, component * D + d);
          if (first_rows && factor.coefficients) {
            factor.coefficients[2 * component * D + d] = c.quadratic;
            factor.coefficients[(2 * component + 1) * D + d] = c.linear;
          }
        }
        quadratic[k][thread % stretch] = c.quadratic;
        linear[k][thread % stretch] = c.linear;
        constant[pass] += c.constant;
      }
      for (int i = thread; i < rows * stretch; i += threads) {
        const int row = i / stretch, column = i % stretch;
        const int64_t image = first_image + row;
        const bool inside = image < batch.images && d0 + column < D;
        const int64_t at = image * factor.row + d0 + column;
        means[row][column] = inside ? static_cast<const Scalar*>(factor.mean)[at] : Scalar(0);
        variances[row][column] =
            inside ? Read::variance(static_cast<const Scalar*>(factor.spread)[at]) : Scalar(0);
      }
    }
    __syncthreads();
    if (thread < threads) {
      const int row = thread % rows, group = thread / rows;
      const int columns = static_cast<int>(D - d0 < stretch ? D - d0 : stretch);
#pragma unroll 4
      for (int column = 0; column < columns; ++column) {
        const double mean = means[row][column];
        const double square = fma(mean, mean, static_cast<double>(variances[row][column]));
#pragma unroll
        for (int j = 0; j < each; ++j) {
          const int k = group + j * groups;
          if (k < tile)
            sum[j] = fma(square, quadratic[k][column], fma(mean, linear[k][column], sum[j]));
        }
      }
    }
  }

  if (thread < threads)
    for (int pass = 0; pass < passes; ++pass) {
      const int k = thread / stretch + pass * (threads / stretch);
      const double total = warp_sum(constant[pass]);
      if (k < tile && thread % 32 == 0) constants[k][thread % stretch / 32] = total;
    }
  __syncthreads();
  if (thread >= threads) return;
  const int64_t image = first_image + thread % rows;
  if (image >= batch.images) return;
  for (int j = 0; j < each; ++j) {
    const int k = thread / rows + j * groups;
    if (k < tile && first_component + k < K)
      factor.log_normal[image * K + first_component + k] =
          sum[j] + constants[k][0] + constants[k][1];
  }
}

/// The softmax over the components of one image (eq:resp), and its terms.
template <Encodings encodings>
__global__ void __launch_bounds__(threads) allocate(const __grid_constant__ PriorBatch batch) {
  using Read = Reading<encodings>;
  __shared__ double shared[32];
  const PriorFactor& factor = batch.factor[blockIdx.y];
  const int64_t K = factor.components, image = blockIdx.x;
  const double* log_normal = factor.log_normal + image * K;
  const int thread = static_cast<int>(threadIdx.x);

  const int64_t label = factor.labels ? factor.labels[image * factor.labels_stride] : -1;
  if (label >= K) __trap();
  const double at_label = label >= 0 ? log_normal[label] : 0;  // before it is written over

  double highest = -INFINITY, total_count = 0;
  for (int64_t k = thread; k < K; k += threads) {
    highest = max(highest, log_normal[k] + factor.log_weights[k]);
    total_count += factor.counts[k];
  }
  highest = block_max(highest, shared);
  double sum = 0;
  for (int64_t k = thread; k < K; k += threads)
    sum += exp(log_normal[k] + factor.log_weights[k] - highest);
  const double log_sum = highest + log(block_sum(sum, shared));

  double expected = 0;  // of eq:Elogp under the responsibilities
  for (int64_t k = thread; k < K; k += threads) {
    const double value = log_normal[k];
    const double gamma =
        label >= 0 ? static_cast<double>(k == label) : exp(value + factor.log_weights[k] - log_sum);
    expected += gamma * value;
    factor.responsibilities[image * K + k] = gamma;
  }
  if (thread == 0) factor.log_sum[image] = log_sum;
  if (!factor.kl_z) return;

  double entropy = 0;
  const auto* spread =
      static_cast<const typename Read::Scalar*>(factor.spread) + image * factor.row;
  for (int64_t d = thread; d < factor.dimensions; d += threads)
    entropy += 0.5 * (Read::log_variance(spread[d]) + log_two_pi + 1.0);
  expected = block_sum(expected, shared);
  entropy = block_sum(entropy, shared);
  total_count = block_sum(total_count, shared);
  if (thread != 0) return;
  factor.kl_z[image] = -expected - entropy;
  // The softmax has no need of digamma(sum c), which E[log pi] = digamma(c) - digamma(sum c) has.
  // log gamma = log_normal + digamma(c) - log_sum.
  factor.kl_r[image] =
      digamma(total_count) + (label >= 0 ? -factor.log_weights[label] : expected - log_sum);
  factor.label_log_likelihood[image] =
      label >= 0 ? at_label + factor.log_weights[label] - log_sum : 0.0;
}

/// From expected coefficients of one image and dimension to the derivatives of its terms.
__device__ void write_derivatives(const PriorFactor& factor, int64_t image, int64_t d,
                                  double quadratic, double linear) {
  const int64_t D = factor.dimensions, at = image * factor.row + d;
  const double mean = static_cast<const float*>(factor.mean)[at];
  const double variance =
      Reading<Encodings::log_variances>::variance(static_cast<const float*>(factor.spread)[at]);
  const int64_t label = factor.labels ? factor.labels[image * factor.labels_stride] : -1;
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

/// Coefficients averaged over the allocation, for gradient_images images and a chunk of the
/// components; the last block of an image adds the chunks, in their order, and writes derivatives.
__global__ void __launch_bounds__(threads) gradients(const __grid_constant__ PriorBatch batch) {
  constexpr int groups = threads / stretch, each = gradient_images / groups;
  __shared__ double gamma[gradient_images][gradient_components];
  __shared__ bool last;
  const PriorFactor& factor = batch.factor[blockIdx.z];
  const int64_t K = factor.components, D = factor.dimensions;
  const int64_t length = chunk_length(K), chunks = divided_up(K, length);
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * length;
  const int64_t end = begin + length < K ? begin + length : K;
  const int64_t first_image = static_cast<int64_t>(blockIdx.y) * gradient_images;
  if (begin >= K) return;
  const int thread = static_cast<int>(threadIdx.x), group = thread / stretch;
  const auto partial = [&](int64_t chunk, int64_t image) {
    return factor.partials + (chunk * batch.images + image) * 2 * D;
  };

  for (int64_t d0 = 0; d0 < D; d0 += stretch) {
    const int64_t d = d0 + thread % stretch;
    double quadratic[each] = {}, linear[each] = {};
    for (int64_t k0 = begin; k0 < end; k0 += gradient_components) {
      __syncthreads();
      {
        const int row = thread / gradient_components, k = thread % gradient_components;
        const int64_t image = first_image + row;
        const bool inside = image < batch.images && k0 + k < end;
        gamma[row][k] = inside ? exp(factor.log_normal[image * K + k0 + k] +
                                     factor.log_weights[k0 + k] - factor.log_sum[image])
                               : 0.0;
      }
      __syncthreads();
      if (d >= D) continue;
      const int count =
          static_cast<int>(end - k0 < gradient_components ? end - k0 : gradient_components);
#pragma unroll 8
      for (int k = 0; k < count; ++k) {
        const double* own = factor.coefficients + 2 * (k0 + k) * D + d;
        const double of_square = own[0], of_mean = own[D];
#pragma unroll
        for (int j = 0; j < each; ++j) {
          const double weight = gamma[group + j * groups][k];
          quadratic[j] = fma(weight, of_square, quadratic[j]);
          linear[j] = fma(weight, of_mean, linear[j]);
        }
      }
    }
    for (int j = 0; j < each; ++j) {
      const int64_t image = first_image + group + j * groups;
      if (d >= D || image >= batch.images) continue;
      if (chunks == 1) {
        write_derivatives(factor, image, d, quadratic[j], linear[j]);
      } else {
        partial(blockIdx.x, image)[d] = quadratic[j];
        partial(blockIdx.x, image)[D + d] = linear[j];
      }
    }
  }
  if (chunks == 1) return;

  __threadfence();
  __syncthreads();
  if (thread == 0) last = atomicAdd(&factor.tickets[blockIdx.y], 1u) == chunks - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int64_t i = thread; i < gradient_images * D; i += threads) {
    const int64_t image = first_image + i / D, d = i % D;
    if (image >= batch.images) continue;
    double quadratic = 0, linear = 0;
#pragma unroll 8
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      quadratic += __ldcg(partial(chunk, image) + d);
      linear += __ldcg(partial(chunk, image) + D + d);
    }
    write_derivatives(factor, image, d, quadratic, linear);
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

/// Sums over the images for update_components components, and their natural-gradient step.
template <Encodings encodings>
__global__ void __launch_bounds__(threads)
    update(const __grid_constant__ PriorBatch batch, NaturalStep step) {
  using Read = Reading<encodings>;
  using Scalar = typename Read::Scalar;
  __shared__ double gamma[update_components][update_images];
  const PriorFactor& factor = batch.factor[blockIdx.y];
  const int64_t K = factor.components, D = factor.dimensions;
  const int64_t first_component = static_cast<int64_t>(blockIdx.x) * update_components;
  if (first_component >= K) return;
  const int thread = static_cast<int>(threadIdx.x), own = thread / stretch;
  const int64_t component = first_component + own;
  const double rho = *step.rho;

  for (int64_t d0 = 0; d0 < D; d0 += stretch) {
    const int64_t d = d0 + thread % stretch;
    const bool inside = d < D && component < K;
    double counts = 0, first = 0, second = 0;
    for (int64_t b0 = 0; b0 < batch.images; b0 += update_images) {
      __syncthreads();
      {
        const int k = thread % update_components, row = thread / update_components;
        const bool known = b0 + row < batch.images && first_component + k < K;
        gamma[k][row] = known ? factor.responsibilities[(b0 + row) * K + first_component + k] : 0.0;
      }
      __syncthreads();
      if (!inside) continue;
      const int rows =
          static_cast<int>(batch.images - b0 < update_images ? batch.images - b0 : update_images);
#pragma unroll 8
      for (int row = 0; row < rows; ++row) {
        const int64_t at = (b0 + row) * factor.row + d;
        const double mean = static_cast<const Scalar*>(factor.mean)[at];
        const double variance = Read::variance(static_cast<const Scalar*>(factor.spread)[at]);
        const double weight = gamma[own][row];
        counts += weight;
        first = fma(weight, mean, first);
        second = fma(weight, fma(mean, mean, variance), second);
      }
    }
    if (!inside) continue;
    const double held = step.scale * counts;
    const int64_t at = component * D + d;
    factor.log_alpha[at] = moved(factor.log_alpha[at], step.a0 + 0.5 * held - 0.5, rho);
    factor.alpha[at] =
        moved(factor.alpha[at],
              -(step.b0 + 0.5 * step.s0 * step.m0 * step.m0 + 0.5 * step.scale * second), rho);
    factor.alpha_mu[at] = moved(factor.alpha_mu[at], step.s0 * step.m0 + step.scale * first, rho);
    factor.alpha_mu2[at] = moved(factor.alpha_mu2[at], -0.5 * (step.s0 + held), rho);
    if (d == 0) factor.counts[component] = moved(factor.counts[component], step.c0 + held, rho);
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
void launch_e_step(const PriorBatch& batch, cudaStream_t stream) {
  const int64_t components = most(batch, &PriorFactor::components);
  const auto factors = static_cast<unsigned>(batch.count);
  // Few components a block while that fills the card: then it is latency that counts.
  const int tile = components <= 1024 ? 4 : most_components;
  const dim3 grid(blocks(components, tile), blocks(batch.images, Reading<encodings>::images),
                  factors);
  scores<encodings><<<grid, threads + 32, 0, stream>>>(batch, tile);
  allocate<encodings>
      <<<dim3(static_cast<unsigned>(batch.images), factors), threads, 0, stream>>>(batch);
}

template <Encodings encodings>
void launch_update(const PriorBatch& batch, const NaturalStep& step, cudaStream_t stream) {
  launch_e_step<encodings>(batch, stream);
  const dim3 grid(blocks(most(batch, &PriorFactor::components), update_components),
                  static_cast<unsigned>(batch.count));
  update<encodings><<<grid, threads, 0, stream>>>(batch, step);
}

}  // namespace

int64_t partial_numbers(int64_t images, int64_t components, int64_t dimensions) {
  const int64_t chunks = divided_up(components, chunk_length(components));
  return chunks == 1 ? 0 : chunks * images * 2 * dimensions;
}

int64_t ticket_numbers(int64_t images) { return divided_up(images, gradient_images); }

void prior_terms(const PriorBatch& batch, Encodings encodings, cudaStream_t stream) {
  if (batch.count == 0 || batch.images == 0) return;
  if (encodings == Encodings::variances) return launch_e_step<Encodings::variances>(batch, stream);
  launch_e_step<Encodings::log_variances>(batch, stream);
  if (!batch.factor[0].kl_mean) return;
  int64_t chunks = 1;
  for (int i = 0; i < batch.count; ++i) {
    const int64_t components = batch.factor[i].components;
    const int64_t own = divided_up(components, chunk_length(components));
    if (own > chunks) chunks = own;
  }
  const dim3 grid(static_cast<unsigned>(chunks), blocks(batch.images, gradient_images),
                  static_cast<unsigned>(batch.count));
  gradients<<<grid, threads, 0, stream>>>(batch);
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
