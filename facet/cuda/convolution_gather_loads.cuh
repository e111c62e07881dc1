// The operands of gather_product: which tile of which product a block computes, and how a stage of
// its ring is filled. A row of the left matrix is a pixel of the result, a column one channel of
// one pixel under the kernel, copied from where it lies in the source.
#pragma once

#include "facet/cuda/convolution_view.cuh"
#include "facet/cuda/split_sum.cuh"
#include "facet/cuda/tile_product.cuh"

namespace facet::cuda {

/// A forward convolution, or a transposed one with x and y exchanged: `source` is what is read.
struct GatherProblem {
  DeviceView source, out, mask;
  const void* weights;
  const float* bias;
  /// vector_*: whether an operand can be read 16 bytes, and the result written four numbers, at
  /// once.
  bool relu, vector_source, vector_weights, vector_out;
  int batch, columns;  ///< columns of the result: its channels
  int known_channels;  ///< that the weights have, where patches were filled up with more; else 0
  int channels, source_height, source_width;  ///< of the source
  int out_height, out_width, kernel, stride, padding;
  bool vector_mask;
  int most_rows, most_columns;  ///< of a phase
  SplitSum split_sum;
  Workspace workspace;
  Divider by_channels, by_stride, by_splits;
  /// By the columns, and by the pixels of an image, of a phase; [1] where a side has one less.
  Divider by_columns[2], by_pixels[2][2];
};

/// Along one side of the image (down or across), the pixels and taps of a phase. A transposed
/// convolution falls apart into stride^2 phases of pixels, each of which sees only every stride-th
/// tap; a plain one has one phase.
struct PhaseAxis {
  int first, count;               ///< pixels of the result, a stride apart
  int multiply, add, direction;   ///< tap t of pixel i: source i * multiply + add + direction * t
  int taps, first_tap, tap_step;  ///< tap t of the phase: first_tap + t * tap_step of the kernel

  template <bool Transposed>
  __device__ static PhaseAxis of(int phase, int side, int kernel, int padding,
                                 const Divider& by_stride) {
    const int stride = by_stride.divisor;
    if constexpr (Transposed) {
      const int add = by_stride(phase + padding), first_tap = phase + padding - add * stride;
      const int count = by_stride(side - phase + stride - 1);
      const int taps = by_stride(kernel - first_tap + stride - 1);
      return {phase, count, 1, add, -1, taps, first_tap, stride};
    } else {
      return {0, side, stride, -padding, 1, kernel, 0, 1};
    }
  }
  __device__ int source(int pixel) const { return pixel * multiply + add; }
  __device__ int whole_tap(int tap) const { return first_tap + tap_step * tap; }
};

/// What one block computes: a tile of one phase's result, over a share of the stages of its sum.
template <class Shape, bool Transposed>
struct GatherTile {
  int split, phase;
  PhaseAxis down, across;
  int row0, column0, rows;  ///< of the phase's result
  int depth;                ///< length of the sum: taps * channels
  int step0, steps;
  Divider by_columns, by_pixels;

  __device__ __forceinline__ explicit GatherTile(const GatherProblem& p) {
    // Phases with many taps come last in order and first in the grid.
    const int group = p.by_splits(blockIdx.z);
    split = blockIdx.z - group * p.split_sum.splits;
    phase = Transposed ? p.stride * p.stride - 1 - group : 0;
    const int phase_row = Transposed ? p.by_stride(phase) : 0;
    down = PhaseAxis::of<Transposed>(phase_row, p.out_height, p.kernel, p.padding, p.by_stride);
    across = PhaseAxis::of<Transposed>(phase - phase_row * p.stride, p.out_width, p.kernel,
                                       p.padding, p.by_stride);
    row0 = blockIdx.x * Shape::rows;
    column0 = blockIdx.y * Shape::columns;
    rows = p.batch * down.count * across.count;
    depth = down.taps * across.taps * p.channels;
    const int steps_in_all = (depth + Shape::depth - 1) / Shape::depth;
    const int steps_each = p.by_splits(steps_in_all + p.split_sum.splits - 1);
    step0 = split * steps_each;
    steps = max(0, min(steps_each, steps_in_all - step0));
    const int fewer_rows = down.count < p.most_rows;
    const int fewer_columns = across.count < p.most_columns;
    by_columns = p.by_columns[fewer_columns];
    by_pixels = p.by_pixels[fewer_rows][fewer_columns];
  }
  /// The pixel of a row of the result; of the last one past the end.
  __device__ __forceinline__ Pixel pixel(int row) const {
    return pixel_of(min(row, rows - 1), by_pixels, by_columns);
  }
  /// The place of a tap in the whole kernel.
  __device__ __forceinline__ int whole_tap(const GatherProblem& p, int tap_row,
                                           int tap_column) const {
    return down.whole_tap(tap_row) * p.kernel + across.whole_tap(tap_column);
  }
};

/// The rows of the left operand that a thread copies, in pieces of 16 bytes: where each begins in
/// the source, and which pixel is under its first tap.
template <class T, class Shape, class Left>
struct SourceRows {
  static constexpr int pieces = Shape::depth / OperandTraits<T>::vector;  // of a row
  static constexpr int row_step = Shape::threads / pieces;
  static constexpr int passes = Shape::rows / row_step;
  static_assert(Shape::rows % row_step == 0, "every thread copies as much of the left tile");
  const T* source;
  int row, piece;
  int base[passes], base_row[passes], base_column[passes];

  template <class Tile>
  __device__ __forceinline__ SourceRows(const GatherProblem& p, const Tile& tile)
      : source(static_cast<const T*>(p.source.view.data)),
        row(static_cast<int>(threadIdx.x) / pieces),
        piece(static_cast<int>(threadIdx.x) % pieces * OperandTraits<T>::vector) {
#pragma unroll
    for (int i = 0; i < passes; ++i) {
      const int matrix_row = tile.row0 + row + i * row_step;
      const Pixel pixel = tile.pixel(matrix_row);
      base_row[i] = matrix_row < tile.rows ? tile.down.source(pixel.row) : -(1 << 14);
      base_column[i] = tile.across.source(pixel.column);
      base[i] = p.source.pixel(pixel.image, base_row[i], base_column[i]) + piece;
    }
  }
  /// Begins the copies of this thread's 16 bytes per row, of which the first piece's begin at
  /// `channel`, from the pixel that lies so far down and across from the first tap's.
  __device__ __forceinline__ void copy(const GatherProblem& p, T* left, int down, int across,
                                       int channel, bool inside) const {
    const int shift = down * p.source.view.row + across * p.source.view.column + channel;
#pragma unroll
    for (int i = 0; i < passes; ++i) {
      const bool valid = inside && within(base_row[i] + down, p.source_height) &&
                         within(base_column[i] + across, p.source_width);
      copy_async(left + Left::at(row + i * row_step, piece), source + (valid ? base[i] + shift : 0),
                 valid);
    }
  }
};

/// Loads stages one after the other where both operands come in pieces of 16 bytes and a stage
/// never reaches over the end of a tap: all that does not change is computed once.
template <class T, class Shape, bool Transposed>
struct AlignedGatherLoads {
  using Product = typename Shape::template Product<T, false, Transposed>;
  using Right = typename Product::Right;
  static constexpr int vector = OperandTraits<T>::vector;
  static constexpr int pieces = Right::columns / vector, all_pieces = Right::rows * pieces;
  static constexpr int passes = (all_pieces + Shape::threads - 1) / Shape::threads;

  const GatherProblem& p;
  const GatherTile<Shape, Transposed>& tile;
  T* ring;
  const T* weights;
  SourceRows<T, Shape, typename Product::Left> rows;
  int channel_pitch;         ///< of the weights
  int weights_base[passes];  ///< of this thread's pieces; -1 where there are no weights
  int tap_row = 0, tap_column = 0, channel0 = 0;  ///< where the next stage begins

  __device__ __forceinline__ AlignedGatherLoads(const GatherProblem& problem,
                                                const GatherTile<Shape, Transposed>& of, T* to)
      : p(problem),
        tile(of),
        ring(to),
        weights(static_cast<const T*>(p.weights)),
        rows(p, tile),
        channel_pitch(p.kernel * p.kernel * p.columns) {
    if (tile.step0 > 0) {
      const int tap = p.by_channels(tile.step0 * Shape::depth);
      channel0 = tile.step0 * Shape::depth - tap * p.channels;
      tap_row = tap / tile.across.taps;
      tap_column = tap - tap_row * tile.across.taps;
    }
#pragma unroll
    for (int i = 0; i < passes; ++i) {
      const int index = threadIdx.x + i * Shape::threads;
      const int row = index / pieces, column = index % pieces * vector;
      const int n = tile.column0 + (Transposed ? column : row);
      const int at = Transposed ? row * channel_pitch + n : n * tile.depth + column;
      weights_base[i] = n < p.columns ? at : -1;
    }
  }
  __device__ __forceinline__ void operator()(int step) {
    T* left = ring + (step % Shape::stages) * Product::stage_elements;
    rows.copy(p, left, tile.down.direction * tap_row, tile.across.direction * tap_column, channel0,
              true);
    copy_weights(left + Product::Left::elements, step);
    advance();
  }

 private:
  __device__ __forceinline__ void copy_weights(T* right, int step) const {
    const int origin =
        Transposed ? channel0 * channel_pitch + tile.whole_tap(p, tap_row, tap_column) * p.columns
                   : (tile.step0 + step) * Shape::depth;
#pragma unroll
    for (int i = 0; i < passes; ++i) {
      const int index = threadIdx.x + i * Shape::threads;
      if (all_pieces % Shape::threads != 0 && index >= all_pieces) break;
      const bool valid = weights_base[i] >= 0;
      copy_async(right + Right::at(index / pieces, index % pieces * vector),
                 weights + (valid ? weights_base[i] + origin : 0), valid);
    }
  }
  __device__ __forceinline__ void advance() {
    channel0 += Shape::depth;
    if (channel0 != p.channels) return;
    channel0 = 0;
    if (++tap_column != tile.across.taps) return;
    tap_column = 0;
    ++tap_row;
  }
};

/// Loads any stage of any problem, in pieces of 16 bytes where an operand allows it.
template <class T, class Shape, bool Transposed>
struct AnyGatherLoads {
  using Product = typename Shape::template Product<T, false, Transposed>;
  using Left = typename Product::Left;
  using Right = typename Product::Right;
  using Traits = OperandTraits<T>;

  const GatherProblem& p;
  const GatherTile<Shape, Transposed>& tile;
  T* ring;
  SourceRows<T, Shape, Left> rows;
  int weights_depth;

  __device__ __forceinline__ AnyGatherLoads(const GatherProblem& problem,
                                            const GatherTile<Shape, Transposed>& of, T* to)
      : p(problem),
        tile(of),
        ring(to),
        rows(p, tile),
        weights_depth(p.known_channels > 0 ? p.known_channels : tile.depth) {}
  __device__ __forceinline__ void operator()(int step) const {
    T* left = ring + (step % Shape::stages) * Product::stage_elements;
    T* right = left + Left::elements;
    const int depth0 = (tile.step0 + step) * Shape::depth;
    if (p.vector_source)
      copy_source(left, depth0);
    else
      convert_source(left, depth0);
    if (p.vector_weights)
      copy_weights(right, depth0);
    else
      read_weights(right, depth0);
  }

 private:
  /// What a column of the left matrix stands for.
  struct Column {
    int tap_row, tap_column, channel;
  };
  __device__ __forceinline__ Column column_of(int at) const {
    const int tap = p.by_channels(at), row = tap / tile.across.taps;
    return {row, tap - row * tile.across.taps, at - tap * p.channels};
  }
  __device__ __forceinline__ void copy_source(T* left, int depth0) const {
    const int at = depth0 + rows.piece;
    const Column column = column_of(at);
    rows.copy(p, left, tile.down.direction * column.tap_row,
              tile.across.direction * column.tap_column, column.channel - rows.piece,
              at < tile.depth);
  }
  __device__ __forceinline__ void convert_source(T* left, int depth0) const {
    for (int i = threadIdx.x; i < Shape::rows * Shape::depth; i += Shape::threads) {
      const int tile_row = i / Shape::depth, at = depth0 + i % Shape::depth;
      const Column tap = column_of(at);
      const Pixel pixel = tile.pixel(tile.row0 + tile_row);
      const int row = tile.down.source(pixel.row) + tile.down.direction * tap.tap_row;
      const int column = tile.across.source(pixel.column) + tile.across.direction * tap.tap_column;
      const bool valid = tile.row0 + tile_row < tile.rows && at < tile.depth &&
                         within(row, p.source_height) && within(column, p.source_width);
      const float value = valid ? p.source.at<T>(p.source.pixel(pixel.image, row, column) +
                                                 p.source.channel(tap.channel))
                                : 0.0f;
      left[Left::at(tile_row, i % Shape::depth)] = Traits::from(value);
    }
  }
  __device__ __forceinline__ size_t weight_at(int at, int n) const {
    if constexpr (Transposed) {
      if (p.kernel == 1) return static_cast<size_t>(at) * p.columns + n;
      const Column tap = column_of(at);
      const size_t row = static_cast<size_t>(tap.channel) * p.kernel * p.kernel +
                         tile.whole_tap(p, tap.tap_row, tap.tap_column);
      return row * p.columns + n;
    } else {
      return static_cast<size_t>(n) * weights_depth + at;
    }
  }
  /// Where an element of the right tile lies in the weights, and whether they have it.
  struct Weight {
    int at, n;
    bool valid;
  };
  __device__ __forceinline__ Weight weight_of(int depth0, int tile_row, int tile_column) const {
    const int at = depth0 + (Transposed ? tile_row : tile_column);
    const int n = tile.column0 + (Transposed ? tile_column : tile_row);
    return {at, n, at < weights_depth && n < p.columns};
  }
  __device__ __forceinline__ void copy_weights(T* right, int depth0) const {
    constexpr int pieces = Right::columns / Traits::vector;
    for (int i = threadIdx.x; i < Right::rows * pieces; i += Shape::threads) {
      const int row = i / pieces, column = i % pieces * Traits::vector;
      const Weight w = weight_of(depth0, row, column);
      copy_async(right + Right::at(row, column),
                 static_cast<const T*>(p.weights) + (w.valid ? weight_at(w.at, w.n) : 0), w.valid);
    }
  }
  __device__ __forceinline__ void read_weights(T* right, int depth0) const {
    for (int i = threadIdx.x; i < Right::rows * Right::columns; i += Shape::threads) {
      const int row = i / Right::columns, column = i % Right::columns;
      const Weight w = weight_of(depth0, row, column);
      right[Right::at(row, column)] =
          w.valid ? static_cast<const T*>(p.weights)[weight_at(w.at, w.n)] : Traits::from(0.0f);
    }
  }
};

}  // namespace facet::cuda
