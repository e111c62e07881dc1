// The product of two tiles of matrices by one block, whatever the matrices are: operands pass
// through a ring of shared-memory stages that asynchronous copies fill, warps multiply 16 x 8
// pieces on the tensor cores, and the sums end as rows in shared memory.
#pragma once

#include <type_traits>

#include "facet/cuda/tensor_core.cuh"

namespace facet::cuda {

/// One stage's piece of an operand: rows of the product's outer side with the inner side
/// contiguous, or the other way round ("inner_rows"). Rows are padded so that reading a column of
/// 16-byte pieces touches every bank once.
template <class T, int Outer, int Depth, bool InnerRows>
struct OperandTile {
  static constexpr int rows = InnerRows ? Depth : Outer;
  static constexpr int columns = InnerRows ? Outer : Depth;
  static constexpr int pitch =
      columns + (InnerRows && sizeof(T) == 4 ? 8 : OperandTraits<T>::vector);
  static constexpr int elements = rows * pitch;

  __device__ static int at(int row, int column) { return row * pitch + column; }
};

template <class T, class Shape, bool LeftInnerRows, bool RightInnerRows>
struct TileProduct;

/// A block's tile: Rows x Columns of the result over WarpRows x WarpColumns warps; a stage of the
/// ring holds Depth elements of the inner side.
template <int Rows, int Columns, int WarpRows, int WarpColumns, int Depth = 32, int Stages = 4>
struct TileShape {
  static constexpr int rows = Rows, columns = Columns, depth = Depth, stages = Stages;
  static constexpr int warp_columns = WarpColumns;
  static constexpr int threads = 32 * WarpRows * WarpColumns;
  static constexpr int row_pieces = Rows / WarpRows / 16;
  static constexpr int column_pieces = Columns / WarpColumns / 8;
  static constexpr int result_pitch = Columns + 4;
  static constexpr int quads = Rows * Columns / 4;
  static constexpr int blocks = 0;  ///< that must fit a multiprocessor; 0 leaves it open
  template <class T, bool LeftInnerRows, bool RightInnerRows>
  using Product = TileProduct<T, TileShape, LeftInnerRows, RightInnerRows>;
};

/// For stages that need no preparation.
struct NoPreparation {
  __device__ void operator()(int) const {}
};

/// The product of two tiles in shared memory added to a block's sums, which live in registers.
template <class T, class Shape, bool LeftInnerRows, bool RightInnerRows>
struct TileProduct {
  using Left = OperandTile<T, Shape::rows, Shape::depth, LeftInnerRows>;
  using Right = OperandTile<T, Shape::columns, Shape::depth, RightInnerRows>;
  static constexpr int stage_elements = Left::elements + Right::elements;
  static constexpr int alignment = 128;  ///< of the ring
  static constexpr int ring_bytes = Shape::stages * stage_elements * static_cast<int>(sizeof(T));
  static constexpr int result_bytes = Shape::rows * Shape::result_pitch * 4;
  static constexpr int shared_bytes = ring_bytes > result_bytes ? ring_bytes : result_bytes;

  float sums[Shape::row_pieces][Shape::column_pieces][4] = {};

  __device__ void add(const T* left, const T* right) {
    const int warp = threadIdx.x >> 5;
    const int row = warp / Shape::warp_columns * Shape::row_pieces * 16;
    const int column = warp % Shape::warp_columns * Shape::column_pieces * 8;
    constexpr int step = OperandTraits<T>::step, count = Shape::depth / step;
    // The next pieces are loaded while these are multiplied.
    LeftFragment<T> a[2][Shape::row_pieces];
    RightFragment<T> b[2][Shape::column_pieces];
    const auto fetch = [&](int i) {
#pragma unroll
      for (int piece = 0; piece < Shape::row_pieces; ++piece)
        load_left<LeftInnerRows, Left::pitch>(a[i & 1][piece], left, row + 16 * piece, i * step);
      load_right<RightInnerRows, Right::pitch>(b[i & 1], right, column, i * step);
    };
    fetch(0);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (i + 1 < count) fetch(i + 1);
#pragma unroll
      for (int m = 0; m < Shape::row_pieces; ++m)
#pragma unroll
        for (int n = 0; n < Shape::column_pieces; ++n)
          multiply_add(sums[m][n], a[i & 1][m], b[i & 1][n]);
    }
  }

  /// Sums `steps` stages; `load(step)` begins the copies of one, in their order, and
  /// `prepare(step)` does before that what every thread's load of it reads.
  template <class Load, class Prepare>
  __device__ void run(T* ring, int steps, Load load, Prepare prepare) {
    constexpr bool prepares = !std::is_same_v<Prepare, NoPreparation>;
    for (int step = 0; step < Shape::stages - 1; ++step) {
      prepare(step);
      if (prepares) __syncthreads();
      if (step < steps) load(step);
      commit_copies();
    }
    prepare(Shape::stages - 1);
    for (int step = 0; step < steps; ++step) {
      wait_copies<Shape::stages - 2>();
      __syncthreads();
      if (step + Shape::stages - 1 < steps) load(step + Shape::stages - 1);
      commit_copies();
      prepare(step + Shape::stages);
      const T* left = ring + (step % Shape::stages) * stage_elements;
      add(left, left + Left::elements);
    }
  }

  /// The sums as rows in shared memory, where any thread can read any of them.
  __device__ void write_sums(float* result) const {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int row = warp / Shape::warp_columns * Shape::row_pieces * 16 + (lane >> 2);
    const int column = warp % Shape::warp_columns * Shape::column_pieces * 8 + (lane & 3) * 2;
    wait_copies<0>();
    __syncthreads();  // the ring has been read by everyone
#pragma unroll
    for (int i = 0; i < Shape::row_pieces; ++i)
#pragma unroll
      for (int j = 0; j < Shape::column_pieces; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float* to = result + (row + 16 * i + 8 * half) * Shape::result_pitch + column + 8 * j;
          *reinterpret_cast<float2*>(to) =
              make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
        }
    __syncthreads();
  }
};

/// Where the ring begins: as far into the block's shared memory as its alignment asks.
template <class Product>
__device__ unsigned char* ring_start(unsigned char* shared) {
  if constexpr (Product::alignment <= 128) {
    return shared;
  } else {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    return shared + (-address & (Product::alignment - 1));
  }
}

}  // namespace facet::cuda
