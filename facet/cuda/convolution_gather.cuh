// The forward and the transposed convolution as a matrix product whose left matrix is never written
// out (implicit GEMM), with bias, ReLU and mask applied on the way to memory.
#pragma once

#include "facet/cuda/convolution_gather_loads.cuh"

namespace facet::cuda {

/// Where each row of a tile goes in `out`, -1 past the end, and where it lies in `mask`.
template <class Shape>
struct RowOffsets {
  int (&out)[Shape::rows], (&mask)[Shape::rows];

  template <class T, bool Transposed>
  __device__ __forceinline__ void compute(const GatherProblem& p,
                                          const GatherTile<Shape, Transposed>& tile) {
    const int step = Transposed ? p.stride : 1;
    for (int i = threadIdx.x; i < Shape::rows; i += Shape::threads) {
      const Pixel pixel = tile.pixel(tile.row0 + i);
      const int row = tile.down.first + step * pixel.row;
      const int column = tile.across.first + step * pixel.column;
      out[i] = tile.row0 + i < tile.rows ? p.out.pixel(pixel.image, row, column) : -1;
      mask[i] = p.mask.pixel(pixel.image, row, column);
      if (Shape::blocks > 0 && p.vector_mask) prefetch_mask<T>(p, tile.column0, mask[i]);
    }
  }

 private:
  /// A large tile's mask is on its way to the L2 cache long before its use.
  template <class T>
  __device__ __forceinline__ static void prefetch_mask(const GatherProblem& p, int column0,
                                                       int offset) {
    for (int n = column0; n < min(column0 + Shape::columns, p.columns); n += 128 / sizeof(T))
      asm volatile(
          "prefetch.global.L2 [%0];" ::"l"(static_cast<const T*>(p.mask.view.data) + offset + n));
  }
};

/// A tile's sums on their way to memory, four neighbouring channels of a pixel at a time: bias,
/// ReLU, mask, and rounding to the operand's type.
template <class T, class Shape>
struct GatherOutput {
  using Traits = OperandTraits<T>;
  struct Fetched {
    alignas(4 * sizeof(T)) T mask[4];
  };
  const GatherProblem& p;
  int column0;
  const RowOffsets<Shape>& offsets;

  __device__ __forceinline__ Fetched fetch(int tile_row, int tile_column) const {
    Fetched fetched{};
    const int n = column0 + tile_column;
    if (!p.mask.view.data || offsets.out[tile_row] < 0 || n >= p.columns) return fetched;
    const int at = offsets.mask[tile_row];
    if (p.vector_mask && n + 3 < p.columns) {
      fetched = *reinterpret_cast<const Fetched*>(static_cast<const T*>(p.mask.view.data) + at + n);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        fetched.mask[j] =
            Traits::from(n + j < p.columns ? p.mask.at<T>(at + p.mask.channel(n + j)) : 0.0f);
    }
    return fetched;
  }
  __device__ __forceinline__ void store(int tile_row, int tile_column, float4 sum,
                                        const Fetched& fetched) const {
    const int to = offsets.out[tile_row], n = column0 + tile_column;
    if (to < 0 || n >= p.columns) return;
    const bool whole = n + 3 < p.columns;
    float values[4] = {sum.x, sum.y, sum.z, sum.w};
    if (p.bias) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (whole || n + j < p.columns) values[j] += __ldg(p.bias + n + j);
    }
    if (p.relu) {
#pragma unroll
      for (int j = 0; j < 4; ++j) values[j] = fmaxf(values[j], 0.0f);
    }
    if (p.mask.view.data) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (!(Traits::to(fetched.mask[j]) > 0.0f)) values[j] = 0.0f;
    }
    if (p.vector_out && whole)
      store_four(to + n, values);
    else
      store_each(to, n, values);
  }

 private:
  __device__ __forceinline__ void store_four(int at, const float (&values)[4]) const {
    if (p.out.view.single) {
      *reinterpret_cast<float4*>(static_cast<float*>(p.out.view.data) + at) =
          make_float4(values[0], values[1], values[2], values[3]);
    } else if constexpr (sizeof(T) == 4) {
      *reinterpret_cast<float4*>(static_cast<float*>(p.out.view.data) + at) =
          make_float4(Traits::from(values[0]), Traits::from(values[1]), Traits::from(values[2]),
                      Traits::from(values[3]));
    } else {
      alignas(16) T packed[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) packed[j] = Traits::from(values[j]);
      *reinterpret_cast<uint2*>(static_cast<T*>(p.out.view.data) + at) =
          *reinterpret_cast<const uint2*>(packed);
    }
  }
  __device__ __forceinline__ void store_each(int to, int n, const float (&values)[4]) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (n + j >= p.columns) break;
      const int offset = to + p.out.channel(n + j);
      if (p.out.view.single)
        static_cast<float*>(p.out.view.data)[offset] = values[j];
      else
        static_cast<T*>(p.out.view.data)[offset] = Traits::from(values[j]);
    }
  }
};

/// out[pixel][n] = sum over taps and channels of source * weights, with bias, ReLU and mask.
template <class T, class Shape, bool Transposed, Loads How>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    gather_product(const GatherProblem p) {
  using Product = typename Shape::template Product<T, false, Transposed>;
  using Loader = std::conditional_t<How == Loads::aligned, AlignedGatherLoads<T, Shape, Transposed>,
                                    AnyGatherLoads<T, Shape, Transposed>>;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ int out_at[Shape::rows], mask_at[Shape::rows];
  RowOffsets<Shape> offsets{out_at, mask_at};
  T* ring = reinterpret_cast<T*>(ring_start<Product>(shared));

  const GatherTile<Shape, Transposed> tile(p);
  if (tile.row0 >= tile.rows) return;  // all blocks of a cluster alike
  offsets.template compute<T>(p, tile);
  Product product;
  product.run(ring, tile.steps, Loader(p, tile, ring), NoPreparation{});

  float* result = reinterpret_cast<float*>(ring);
  product.write_sums(result);
  const int number = (tile.phase * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  store_tile<Shape>(result, p.split_sum, p.workspace, number, tile.split,
                    GatherOutput<T, Shape>{p, tile.column0, offsets});
}

}  // namespace facet::cuda
