// The gradient of a convolution's weights as a matrix product over all pixels of the result. The
// right matrix, patches of x, is never written out; one more column of ones makes the gradient of
// the bias from the same product.
#pragma once

#include "facet/cuda/convolution_view.cuh"
#include "facet/cuda/split_sum.cuh"
#include "facet/cuda/tile_product.cuh"

namespace facet::cuda {

struct WeightProblem {
  DeviceView x, gradient;
  float *weights, *bias;
  bool vector_x, vector_gradient;
  int rows, columns;  ///< channels_out; taps * channels_in
  int pixels, channels_in, source_height, source_width, kernel, stride, padding;
  SplitSum split_sum;
  Workspace workspace;
  Divider by_channels, by_image, by_width, by_splits;
};

/// What one block computes: a tile of the weights, over a share of the stages of pixels.
template <class Shape>
struct WeightTile {
  int row0, column0, split, step0, steps;

  __device__ __forceinline__ explicit WeightTile(const WeightProblem& p)
      : row0(blockIdx.y * Shape::rows), column0(blockIdx.x * Shape::columns), split(blockIdx.z) {
    const int steps_in_all = (p.pixels + Shape::depth - 1) / Shape::depth;
    const int steps_each = p.by_splits(steps_in_all + p.split_sum.splits - 1);
    step0 = split * steps_each;
    steps = max(0, min(steps_each, steps_in_all - step0));
  }
  /// The first pixel of a stage.
  __device__ int pixel0(int step) const { return (step0 + step) * Shape::depth; }
};

/// What a column of the right matrix stands for.
struct WeightColumn {
  int tap_row, tap_column, channel;
  bool weight, bias;

  __device__ __forceinline__ WeightColumn(const WeightProblem& p, int n) {
    const int tap = p.by_channels(n);
    tap_row = tap / p.kernel - p.padding;
    tap_column = tap % p.kernel - p.padding;
    channel = n - tap * p.channels_in;
    weight = n < p.columns;
    bias = n == p.columns;
  }
};

/// The left operand, the gradient of y. A thread copies the same 16 bytes of pixels `pixel_step`
/// apart, which lie at one distance as `vector_gradient` promises.
template <class T, class Shape, class Left>
struct GradientLoads {
  static constexpr int pieces = Shape::rows / OperandTraits<T>::vector;
  static constexpr int pixel_step = Shape::threads / pieces;
  static_assert(Shape::depth % pixel_step == 0, "every thread copies as much of the left tile");
  const WeightProblem& p;
  const WeightTile<Shape>& tile;
  int pixel, piece;
  bool inside;
  const T* from;

  __device__ __forceinline__ GradientLoads(const WeightProblem& problem,
                                           const WeightTile<Shape>& of)
      : p(problem),
        tile(of),
        pixel(static_cast<int>(threadIdx.x) / pieces),
        piece(static_cast<int>(threadIdx.x) % pieces * OperandTraits<T>::vector),
        inside(tile.row0 + piece < p.rows),
        from(static_cast<const T*>(p.gradient.view.data) + tile.row0 + piece +
             static_cast<ptrdiff_t>(tile.step0 * Shape::depth + pixel) * p.gradient.view.column) {}

  __device__ __forceinline__ void copy(T* left, int step) const {
    const int pixel0 = tile.pixel0(step);
#pragma unroll
    for (int i = 0; i < Shape::depth / pixel_step; ++i) {
      const int inner = pixel + i * pixel_step;
      copy_async(left + Left::at(inner, piece),
                 from + static_cast<ptrdiff_t>(step * Shape::depth + i * pixel_step) *
                            p.gradient.view.column,
                 inside && pixel0 + inner < p.pixels);
    }
  }
  __device__ __forceinline__ void convert(T* left, int step) const {
    const int pixel0 = tile.pixel0(step);
    for (int i = threadIdx.x; i < Shape::depth * Shape::rows; i += Shape::threads) {
      const int inner = i / Shape::rows, m = tile.row0 + i % Shape::rows;
      const bool valid = pixel0 + inner < p.pixels && m < p.rows;
      const Pixel at = pixel_of(min(pixel0 + inner, p.pixels - 1), p.by_image, p.by_width);
      const float value = valid ? p.gradient.at<T>(p.gradient.pixel(at.image, at.row, at.column) +
                                                   p.gradient.channel(m))
                                : 0.0f;
      left[Left::at(inner, i % Shape::rows)] = OperandTraits<T>::from(value);
    }
  }
};

/// Where a pixel's patch begins in x: the offset, row and column of the kernel's first tap without
/// padding; the row is far outside for pixels past the end.
struct PatchPlace {
  int offset;
  short row, column;
};

/// The places of the pixels of two stages, computed one stage ahead of their copies.
template <class Shape>
struct PatchPlaces {
  PatchPlace at[2][Shape::depth];

  __device__ __forceinline__ void compute(const WeightProblem& p, const WeightTile<Shape>& tile,
                                          int step) {
    for (int i = threadIdx.x; i < Shape::depth; i += Shape::threads) {
      const int number = tile.pixel0(step) + i;
      const Pixel pixel = pixel_of(min(number, p.pixels - 1), p.by_image, p.by_width);
      const int row = pixel.row * p.stride, column = pixel.column * p.stride;
      at[step % 2][i] = {p.x.pixel(pixel.image, row, column),
                         static_cast<short>(number < p.pixels ? row : -(1 << 14)),
                         static_cast<short>(column)};
    }
  }
};

/// The right operand, patches of x. A thread copies the same column, 16 bytes wide, of pixels
/// `pixel_step` apart.
template <class T, class Shape, class Right>
struct PatchLoads {
  using Traits = OperandTraits<T>;
  static constexpr int pieces = Shape::columns / Traits::vector;
  static constexpr int pixel_step = Shape::threads / pieces;
  static_assert(Shape::threads % pieces == 0, "a thread stays in its column");
  static_assert(Shape::depth % pixel_step == 0, "every thread copies as much of the right tile");
  const WeightProblem& p;
  const WeightTile<Shape>& tile;
  int pixel, piece;
  WeightColumn column;
  const T* from;

  __device__ __forceinline__ PatchLoads(const WeightProblem& problem, const WeightTile<Shape>& of)
      : p(problem),
        tile(of),
        pixel(static_cast<int>(threadIdx.x) / pieces),
        piece(static_cast<int>(threadIdx.x) % pieces * Traits::vector),
        column(p, tile.column0 + piece),
        from(static_cast<const T*>(p.x.view.data) + column.tap_row * p.x.view.row +
             column.tap_column * p.x.view.column + column.channel) {}

  /// The column of ones, once in one stage of the ring: copies leave it there.
  __device__ __forceinline__ void write_ones(T* right) const {
    for (int inner = pixel; inner < Shape::depth; inner += pixel_step)
      for (int j = 0; j < Traits::vector; ++j)
        right[Right::at(inner, piece + j)] = Traits::from(j == 0 ? 1.0f : 0.0f);
  }
  /// A copy of nothing reads nothing, wherever it points.
  __device__ __forceinline__ void copy(T* right, const PatchPlace (&places)[Shape::depth]) const {
    if (column.bias) return;
#pragma unroll
    for (int i = 0; i < Shape::depth / pixel_step; ++i) {
      const int inner = pixel + i * pixel_step;
      const PatchPlace place = places[inner];
      copy_async(right + Right::at(inner, piece), from + place.offset,
                 column.weight && within(place.row + column.tap_row, p.source_height) &&
                     within(place.column + column.tap_column, p.source_width));
    }
  }
  __device__ __forceinline__ void convert(T* right, int step) const {
    const int pixel0 = tile.pixel0(step);
    for (int i = threadIdx.x; i < Shape::depth * Shape::columns; i += Shape::threads) {
      const int inner = i / Shape::columns;
      const WeightColumn tap(p, tile.column0 + i % Shape::columns);
      const Pixel at = pixel_of(min(pixel0 + inner, p.pixels - 1), p.by_image, p.by_width);
      const int row = at.row * p.stride + tap.tap_row;
      const int across = at.column * p.stride + tap.tap_column;
      const bool valid = tap.weight && pixel0 + inner < p.pixels && within(row, p.source_height) &&
                         within(across, p.source_width);
      const float value =
          tap.bias ? 1.0f
          : valid  ? p.x.at<T>(p.x.pixel(at.image, row, across) + p.x.channel(tap.channel))
                   : 0.0f;
      right[Right::at(inner, i % Shape::columns)] = Traits::from(value);
    }
  }
};

/// A tile's sums on their way to the gradients of weights and bias.
struct WeightOutput {
  struct Fetched {};
  const WeightProblem& p;
  int row0, column0;

  __device__ __forceinline__ Fetched fetch(int, int) const { return {}; }
  __device__ __forceinline__ void store(int tile_row, int tile_column, float4 sum, Fetched) const {
    const int m = row0 + tile_row, n = column0 + tile_column;
    if (m >= p.rows) return;
    float* to = p.weights + static_cast<size_t>(m) * p.columns + n;
    if (p.columns % 4 == 0 && n + 3 < p.columns) {
      *reinterpret_cast<float4*>(to) = sum;
      return;
    }
    const float values[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (n + j < p.columns) to[j] = values[j];
      if (n + j == p.columns && p.bias) p.bias[m] = values[j];
    }
  }
};

/// weights[m][tap, channel] = sum over pixels of gradient[pixel][m] * x[pixel + tap][channel]; one
/// more column of ones gives the bias.
template <class T, class Shape, Loads How>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    weight_product(const WeightProblem p) {
  using Product = typename Shape::template Product<T, true, true>;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ PatchPlaces<Shape> places;
  T* ring = reinterpret_cast<T*>(ring_start<Product>(shared));

  const WeightTile<Shape> tile(p);
  const GradientLoads<T, Shape, typename Product::Left> gradients(p, tile);
  const PatchLoads<T, Shape, typename Product::Right> patches(p, tile);
  const bool copy_gradients = How == Loads::aligned || p.vector_gradient;
  const bool copy_patches = How == Loads::aligned || p.vector_x;
  if (copy_patches && patches.column.bias)
    for (int stage = 0; stage < Shape::stages; ++stage)
      patches.write_ones(ring + stage * Product::stage_elements + Product::Left::elements);

  const auto load = [&](int step) {
    T* left = ring + (step % Shape::stages) * Product::stage_elements;
    T* right = left + Product::Left::elements;
    if (copy_gradients)
      gradients.copy(left, step);
    else
      gradients.convert(left, step);
    if (copy_patches)
      patches.copy(right, places.at[step % 2]);
    else
      patches.convert(right, step);
  };
  Product product;
  product.run(ring, tile.steps, load, [&](int step) { places.compute(p, tile, step); });

  float* result = reinterpret_cast<float*>(ring);
  product.write_sums(result);
  store_tile<Shape>(result, p.split_sum, p.workspace, blockIdx.y * gridDim.x + blockIdx.x,
                    tile.split, WeightOutput{p, tile.row0, tile.column0});
}

}  // namespace facet::cuda
