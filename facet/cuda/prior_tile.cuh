// What the kernels of the prior share. Sums over dimensions, components and images are 8 x 8 tiles
// of float64 products on the tensor cores (mma.m8n8k4): a block of 16 warps computes eight tiles,
// two warps per tile, each with one half of the inner sum.
#pragma once

#include "facet/cuda/prior.h"
#include "facet/cuda/reduce.cuh"

namespace facet::cuda::prior_kernels {

constexpr int threads = 512;
constexpr int side = 8;      ///< of a tile
constexpr int stretch = 64;  ///< images, components or dimensions that a block works on at a time
/// Inner length of a warp's product, and its steps of four.
constexpr int half = stretch / 2, steps = half / 4;
/// A row of doubles in shared memory; with this length tiles are read without bank conflicts.
constexpr int padded = stretch + 4;

constexpr double log_two_pi = 1.8378770664093454836;

__host__ __device__ inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

__host__ __device__ inline int64_t tiles_of(int64_t components) {
  return divide_up(components, side);
}

/// Where a thread stands among the warps of its block and among the lanes of its warp.
struct Position {
  int thread = static_cast<int>(threadIdx.x);
  int lane = thread % 32, warp = thread / 32;
  int row = lane / 4, quarter = lane % 4;  ///< of an operand of the warp's products

  /// The tile that this warp computes.
  __device__ int tile() const { return warp % side; }
  /// The first place of the inner sum that this thread reads; each step goes four further.
  __device__ int inner() const { return warp / side * half + quarter; }
  /// The first half of the warps ends up with the whole sums.
  __device__ bool has_sums() const { return warp < side; }
};

/// A thread's part of an 8 x 8 tile: row lane / 4, columns 2 (lane % 4) and the next.
struct Tile {
  double left, right;

  __device__ Tile& operator+=(const Tile& other) {
    left += other.left;
    right += other.right;
    return *this;
  }
  __device__ double operator[](int i) const { return i == 0 ? left : right; }
};

/// tile += A B, A 8 x 4 with a = A[lane / 4][lane % 4], B 4 x 8 with b = B[lane % 4][lane / 4].
__device__ __forceinline__ void add_product(Tile& tile, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(tile.left), "+d"(tile.right)
      : "d"(a), "d"(b));
}

/// Adds the halves of the inner sum: warps with the second half hand it over in shared memory.
template <int count>
__device__ __forceinline__ void add_halves(const Position& position, Tile (&tiles)[count],
                                           Tile (&second_half)[threads / 2][count]) {
  if (!position.has_sums()) {
#pragma unroll
    for (int i = 0; i < count; ++i) second_half[position.thread - threads / 2][i] = tiles[i];
  }
  __syncthreads();
  if (!position.has_sums()) return;
#pragma unroll
  for (int i = 0; i < count; ++i) tiles[i] += second_half[position.thread][i];
}

/// How encodings are stored.
template <Encodings encodings>
struct EncodingFormat;
template <>
struct EncodingFormat<Encodings::log_variances> {
  using Scalar = float;
  static constexpr float absent = -INFINITY;  ///< a spread that stands for no variance
  __device__ static double variance(float spread) { return expf(spread); }
  __device__ static double log_variance(float spread) { return spread; }
};
template <>
struct EncodingFormat<Encodings::variances> {
  using Scalar = double;
  static constexpr double absent = 0;
  __device__ static double variance(double spread) { return spread; }
  __device__ static double log_variance(double spread) { return log(spread); }
};

/// The encodings that a thread multiplies, kept in registers: their loads are issued together and
/// arrive while the block computes something else.
template <Encodings encodings>
struct EncodingRegisters {
  using Format = EncodingFormat<encodings>;
  using Scalar = typename Format::Scalar;
  Scalar means[steps], spreads[steps];

  __device__ __forceinline__ void load(const PriorFactor& factor, int step, int64_t image,
                                       int64_t dimension, bool inside) {
    const int64_t at = image * factor.row + dimension;
    means[step] = inside ? static_cast<const Scalar*>(factor.mean)[at] : Scalar(0);
    spreads[step] = inside ? static_cast<const Scalar*>(factor.spread)[at] : Format::absent;
  }
  __device__ double mean(int step) const { return means[step]; }
  /// E[z^2].
  __device__ double second_moment(int step) const {
    return fma(mean(step), mean(step), Format::variance(spreads[step]));
  }
};

/// -1 where an image has no label.
__device__ __forceinline__ int64_t label_of(const PriorFactor& factor, int64_t image) {
  const int64_t label = factor.labels ? factor.labels[image * factor.labels_stride] : -1;
  if (label >= factor.components) __trap();
  return label;
}

}  // namespace facet::cuda::prior_kernels
