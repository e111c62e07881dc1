// Weighted sums of means over a batch, several per launch: a warp sums each term, and one thread
// adds the terms in their order.
#include "facet/cuda/reduce.cuh"
#include "facet/cuda/sums.h"

namespace facet::cuda {

namespace {

/// One block, so that terms of one sum are added in their order.
constexpr int threads = 1024;

__device__ double value_at(const Term& term, int64_t i) {
  const int64_t at = i * term.stride;
  switch (term.type) {
    case Number::float32:
      return static_cast<const float*>(term.values)[at];
    case Number::float64:
      return static_cast<const double*>(term.values)[at];
    case Number::int64:
      return static_cast<double>(static_cast<const int64_t*>(term.values)[at]);
  }
  return 0;
}

__device__ double factor_of(const Term& term) {
  const double weight = term.weight ? *term.weight : 1.0;
  const double share = term.summary == Summary::mean ? 1.0 / static_cast<double>(term.count) : 1.0;
  return term.factor * weight * share;
}

__global__ void __launch_bounds__(threads)
    add(double* sums, const __grid_constant__ Terms terms, bool fresh) {
  __shared__ double results[most_terms];
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int t = static_cast<int>(threadIdx.x / 32); t < terms.count; t += threads / 32) {
    const Term& term = terms.term[t];
    double sum = 0;
    for (int64_t i = lane; term.values && i < term.count; i += 32) {
      const double value = value_at(term, i);
      sum += term.summary == Summary::known ? static_cast<double>(value >= 0) : value;
    }
    sum = term.values ? warp_sum(sum) : 1.0;
    if (lane == 0) results[t] = factor_of(term) * sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (fresh) sums[0] = 0;
  for (int t = 0; t < terms.count; ++t) sums[terms.term[t].at] += results[t];
}

__global__ void derive(const double* gradient, const __grid_constant__ Terms terms,
                       double* derivatives, float* small_derivatives) {
  const int t = static_cast<int>(threadIdx.x);
  if (t >= terms.count) return;
  const double derivative = *gradient * factor_of(terms.term[t]);
  derivatives[t] = derivative;
  small_derivatives[t] = static_cast<float>(derivative);
}

}  // namespace

void add_terms(double* sums, const Terms& terms, bool fresh, cudaStream_t stream) {
  add<<<1, threads, 0, stream>>>(sums, terms, fresh);
}

void term_derivatives(const double* gradient, const Terms& terms, double* derivatives,
                      float* small_derivatives, cudaStream_t stream) {
  derive<<<1, most_terms, 0, stream>>>(gradient, terms, derivatives, small_derivatives);
}

}  // namespace facet::cuda
