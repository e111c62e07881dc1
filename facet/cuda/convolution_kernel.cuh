// The kernels behind convolution.h: the products of tile_product.cuh with convolutions' matrices.
// The left matrix of `gather_product` is never written out: a row is a pixel of the result, a
// column one channel of one pixel under the kernel, fetched where it lies.
#pragma once

#include "facet/cuda/tile_product.cuh"

namespace facet::cuda {

/// View as the kernels use it.
struct DeviceView {
  View view;
  Divider group;

  DeviceView() = default;
  DeviceView(const View& from) : view(from), group(from.channel_group) {}
  __device__ int pixel(int image, int row, int column) const {
    return image * view.batch + row * view.row + column * view.column;
  }
  __device__ int channel(int n) const {
    if (view.channel_group == 1) return n * view.channel;
    const int outer = group(n);
    return outer * view.channel + (n - outer * view.channel_group) * view.within_group;
  }
  template <class T>
  __device__ float at(int offset) const {
    return view.single ? static_cast<const float*>(view.data)[offset]
                       : OperandTraits<T>::to(static_cast<const T*>(view.data)[offset]);
  }
};

struct GatherProblem {
  DeviceView source, out, mask;
  const void* weights;
  const float* bias;
  bool relu, vector_source, vector_weights, vector_out;
  int batch, columns;  ///< columns of the result: its channels
  int known_channels;
  int channels, source_height, source_width;  ///< of the source
  int out_height, out_width, kernel, stride, padding;
  bool vector_mask;
  int most_rows, most_columns;  ///< of a class
  Sharing sharing;
  Workspace workspace;
  Divider by_channels, by_stride, by_splits;
  /// By the columns, and by the pixels of an image, of a class; [1] where a side has one less.
  Divider by_columns[2], by_pixels[2][2];
};

/// The rows and columns of pixels that a block's class has, and what lies under the kernel for
/// them. A transposed convolution falls apart into stride^2 classes of pixels, each of which hears
/// only every stride-th tap.
struct PixelClass {
  int first, count, multiply, add, direction, taps, first_tap, tap_step;

  template <bool Transposed>
  __device__ static PixelClass of(int phase, int side, int kernel, int padding,
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
};

/// How operands come into shared memory.
enum class Fetch {
  even,  ///< pieces of 16 bytes; a stage never reaches over the end of a tap; at most 32 taps
  any    ///< pieces where the problem says so, else number by number
};

/// out[pixel][n] = sum over taps and channels of source * weights, with bias, ReLU and mask.
template <class T, class C, bool Transposed, Fetch How>
__global__ void __launch_bounds__(C::threads, C::blocks) gather_product(const GatherProblem p) {
  using Product = typename C::template Product<T, false, Transposed>;
  using Traits = OperandTraits<T>;
  constexpr int pieces = C::depth / Traits::vector;  // 16-byte pieces in a row of the left tile
  constexpr int row_step = C::threads / pieces;
  constexpr int passes = C::rows / row_step;
  static_assert(C::rows % row_step == 0, "every thread copies as much of the left tile");
  extern __shared__ __align__(128) unsigned char shared[];
  T* ring = reinterpret_cast<T*>(ring_start<Product>(shared));

  // Classes with many taps come last in order and first in the grid.
  const int group = p.by_splits(blockIdx.z), split = blockIdx.z - group * p.sharing.splits;
  const int phase = Transposed ? p.stride * p.stride - 1 - group : 0;
  const int column0 = blockIdx.y * C::columns;
  const int phase_row = Transposed ? p.by_stride(phase) : 0;
  const PixelClass vertical =
      PixelClass::of<Transposed>(phase_row, p.out_height, p.kernel, p.padding, p.by_stride);
  const PixelClass horizontal = PixelClass::of<Transposed>(
      phase - phase_row * p.stride, p.out_width, p.kernel, p.padding, p.by_stride);
  const int rows = p.batch * vertical.count * horizontal.count;
  const int row0 = blockIdx.x * C::rows;
  if (row0 >= rows) return;  // all blocks of a cluster alike
  const int taps_across = horizontal.taps;
  const int depth = vertical.taps * taps_across * p.channels;
  const int steps_in_all = (depth + C::depth - 1) / C::depth;
  const int steps_each = p.by_splits(steps_in_all + p.sharing.splits - 1);
  const int step0 = split * steps_each;
  const int steps = max(0, min(steps_each, steps_in_all - step0));
  const int weights_depth = p.known_channels > 0 ? p.known_channels : depth;
  const T* source = static_cast<const T*>(p.source.view.data);
  const T* weights = static_cast<const T*>(p.weights);

  struct Pixel {
    int image, row, column;
  };
  const int step = Transposed ? p.stride : 1;
  const int fewer_rows = vertical.count < p.most_rows;
  const int fewer_columns = horizontal.count < p.most_columns;
  const Divider by_columns = p.by_columns[fewer_columns];
  const Divider by_pixels = p.by_pixels[fewer_rows][fewer_columns];
  const auto pixel_of = [&](int row) {
    const int image = by_pixels(row), rest = row - image * static_cast<int>(by_pixels.divisor);
    const int pixel_row = by_columns(rest);
    return Pixel{image, pixel_row, rest - pixel_row * horizontal.count};
  };
  // Where each row of the tile goes, and its mask; -1 past the end.
  __shared__ int out_at[C::rows], mask_at[C::rows];
  for (int i = threadIdx.x; i < C::rows; i += C::threads) {
    const Pixel pixel = pixel_of(min(row0 + i, rows - 1));
    const int row = vertical.first + step * pixel.row;
    const int column = horizontal.first + step * pixel.column;
    out_at[i] = row0 + i < rows ? p.out.pixel(pixel.image, row, column) : -1;
    mask_at[i] = p.mask.pixel(pixel.image, row, column);
    if (C::blocks > 0 && p.vector_mask) {  // a large tile's mask is on its way long before its use
      for (int n = column0; n < min(column0 + C::columns, p.columns); n += 128 / sizeof(T))
        asm volatile("prefetch.global.L2 [%0];" ::"l"(static_cast<const T*>(p.mask.view.data) +
                                                      mask_at[i] + n));
    }
  }
  /// The place of a tap in the whole kernel.
  const auto whole_tap = [&](int tap_row, int tap_column) {
    return (vertical.first_tap + vertical.tap_step * tap_row) * p.kernel + horizontal.first_tap +
           horizontal.tap_step * tap_column;
  };

  // The left tile's rows that this thread copies, and which taps lie inside the image for them.
  const int my_row = static_cast<int>(threadIdx.x) / pieces;
  const int my_piece = static_cast<int>(threadIdx.x) % pieces * Traits::vector;
  int base[passes], base_row[passes], base_column[passes];
#pragma unroll
  for (int i = 0; i < passes; ++i) {
    const int row = row0 + my_row + i * row_step;
    const Pixel pixel = pixel_of(min(row, rows - 1));
    base_row[i] = row < rows ? pixel.row * vertical.multiply + vertical.add : -(1 << 14);
    base_column[i] = pixel.column * horizontal.multiply + horizontal.add;
    base[i] = pixel.image * p.source.view.batch + base_row[i] * p.source.view.row +
              base_column[i] * p.source.view.column + (How == Fetch::even ? my_piece : 0);
  }

  // For even fetches: where the next stage begins, and this thread's pieces of the weights.
  int tap_row = 0, tap_column = 0, channel0 = 0;
  if (How == Fetch::even && step0 > 0) {
    const int tap = p.by_channels(step0 * C::depth);
    channel0 = step0 * C::depth - tap * p.channels;
    tap_row = tap / taps_across;
    tap_column = tap - tap_row * taps_across;
  }
  constexpr int right_columns = Product::Right::columns;
  constexpr int right_pieces = right_columns / Traits::vector;
  constexpr int right_all = Product::Right::rows * right_pieces;
  constexpr int right_passes = (right_all + C::threads - 1) / C::threads;
  const int channel_pitch = p.kernel * p.kernel * p.columns;
  int right_base[right_passes];  // -1 where there are no weights
  if constexpr (How == Fetch::even) {
#pragma unroll
    for (int i = 0; i < right_passes; ++i) {
      const int index = threadIdx.x + i * C::threads;
      const int tile_row = index / right_pieces,
                tile_column = index % right_pieces * Traits::vector;
      const int n = column0 + (Transposed ? tile_column : tile_row);
      right_base[i] = n >= p.columns ? -1
                      : Transposed   ? tile_row * channel_pitch + n
                                     : n * depth + tile_column;
    }
  }

  const auto load = [&](int step) {
    T* left = ring + (step % C::stages) * Product::stage_elements;
    T* right = left + Product::Left::elements;
    const int depth0 = (step0 + step) * C::depth;
    if constexpr (How == Fetch::even) {
      const int down = vertical.direction * tap_row, across = horizontal.direction * tap_column;
      const int shift = down * p.source.view.row + across * p.source.view.column + channel0;
#pragma unroll
      for (int i = 0; i < passes; ++i) {
        const bool valid = static_cast<unsigned>(base_row[i] + down) < p.source_height &&
                           static_cast<unsigned>(base_column[i] + across) < p.source_width;
        copy_async(left + Product::Left::at(my_row + i * row_step, my_piece),
                   source + (valid ? base[i] + shift : 0), valid);
      }
      const int origin = Transposed
                             ? channel0 * channel_pitch + whole_tap(tap_row, tap_column) * p.columns
                             : depth0;
#pragma unroll
      for (int i = 0; i < right_passes; ++i) {
        const int index = threadIdx.x + i * C::threads;
        if (right_all % C::threads != 0 && index >= right_all) break;
        const bool valid = right_base[i] >= 0;
        copy_async(
            right + Product::Right::at(index / right_pieces, index % right_pieces * Traits::vector),
            weights + (valid ? right_base[i] + origin : 0), valid);
      }
      channel0 += C::depth;
      if (channel0 == p.channels) {
        channel0 = 0;
        if (++tap_column == taps_across) {
          tap_column = 0;
          ++tap_row;
        }
      }
      return;
    }
    if (p.vector_source) {
      const int at = depth0 + my_piece;
      const int tap_at = p.by_channels(at), channel = at - tap_at * p.channels;
      const int r = tap_at / taps_across, c = tap_at - r * taps_across;
#pragma unroll
      for (int i = 0; i < passes; ++i) {
        const int row = base_row[i] + vertical.direction * r;
        const int column = base_column[i] + horizontal.direction * c;
        const bool valid = at < depth && static_cast<unsigned>(row) < p.source_height &&
                           static_cast<unsigned>(column) < p.source_width;
        const int offset = base[i] + vertical.direction * r * p.source.view.row +
                           horizontal.direction * c * p.source.view.column + channel;
        copy_async(left + Product::Left::at(my_row + i * row_step, my_piece),
                   source + (valid ? offset : 0), valid);
      }
    } else {
      for (int i = threadIdx.x; i < C::rows * C::depth; i += C::threads) {
        const int tile_row = i / C::depth, at = depth0 + i % C::depth;
        const int tap_at = p.by_channels(at), channel = at - tap_at * p.channels;
        const Pixel pixel = pixel_of(min(row0 + tile_row, rows - 1));
        const int row = pixel.row * vertical.multiply + vertical.add +
                        vertical.direction * (tap_at / taps_across);
        const int column = pixel.column * horizontal.multiply + horizontal.add +
                           horizontal.direction * (tap_at % taps_across);
        const bool valid = row0 + tile_row < rows && at < depth &&
                           static_cast<unsigned>(row) < p.source_height &&
                           static_cast<unsigned>(column) < p.source_width;
        const float value = valid ? p.source.at<T>(p.source.pixel(pixel.image, row, column) +
                                                   p.source.channel(channel))
                                  : 0.0f;
        left[Product::Left::at(tile_row, i % C::depth)] = Traits::from(value);
      }
    }
    const auto weight_at = [&](int at, int n) {
      if constexpr (Transposed) {
        if (p.kernel == 1) return static_cast<size_t>(at) * p.columns + n;
        const int tap_at = p.by_channels(at), channel = at - tap_at * p.channels;
        const int r = tap_at / taps_across;
        const size_t row = static_cast<size_t>(channel) * p.kernel * p.kernel +
                           whole_tap(r, tap_at - r * taps_across);
        return row * p.columns + n;
      } else {
        return static_cast<size_t>(n) * weights_depth + at;
      }
    };
    if (p.vector_weights) {
      for (int i = threadIdx.x; i < Product::Right::rows * right_pieces; i += C::threads) {
        const int tile_row = i / right_pieces, tile_column = i % right_pieces * Traits::vector;
        const int at = depth0 + (Transposed ? tile_row : tile_column);
        const int n = column0 + (Transposed ? tile_column : tile_row);
        const bool valid = at < weights_depth && n < p.columns;
        copy_async(right + Product::Right::at(tile_row, tile_column),
                   weights + (valid ? weight_at(at, n) : 0), valid);
      }
    } else {
      for (int i = threadIdx.x; i < Product::Right::rows * right_columns; i += C::threads) {
        const int tile_row = i / right_columns, tile_column = i % right_columns;
        const int at = depth0 + (Transposed ? tile_row : tile_column);
        const int n = column0 + (Transposed ? tile_column : tile_row);
        const bool valid = at < weights_depth && n < p.columns;
        right[Product::Right::at(tile_row, tile_column)] =
            valid ? weights[weight_at(at, n)] : Traits::from(0.0f);
      }
    }
  };

  Product product;
  product.run(ring, steps, load, Nothing{});
  float* result = reinterpret_cast<float*>(ring);
  product.spread(result);
  const int tile = (phase * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  struct Quad {
    alignas(4 * sizeof(T)) T mask[4];
  };
  finish_tile<C>(
      result, p.sharing, p.workspace, tile, split,
      [&](int tile_row, int tile_column) {
        Quad quad{};
        const int n = column0 + tile_column;
        if (!p.mask.view.data || out_at[tile_row] < 0 || n >= p.columns) return quad;
        if (p.vector_mask && n + 3 < p.columns) {
          quad = *reinterpret_cast<const Quad*>(static_cast<const T*>(p.mask.view.data) +
                                                mask_at[tile_row] + n);
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j)
            quad.mask[j] = Traits::from(
                n + j < p.columns ? p.mask.at<T>(mask_at[tile_row] + p.mask.channel(n + j)) : 0.0f);
        }
        return quad;
      },
      [&](int tile_row, int tile_column, float4 sum, const Quad& quad) {
        const int to = out_at[tile_row], n = column0 + tile_column;
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
            if (!(Traits::to(quad.mask[j]) > 0.0f)) values[j] = 0.0f;
        }
        if (p.vector_out && whole) {
          if (p.out.view.single) {
            *reinterpret_cast<float4*>(static_cast<float*>(p.out.view.data) + to + n) =
                make_float4(values[0], values[1], values[2], values[3]);
          } else if constexpr (sizeof(T) == 4) {
            *reinterpret_cast<float4*>(static_cast<float*>(p.out.view.data) + to + n) =
                make_float4(Traits::from(values[0]), Traits::from(values[1]),
                            Traits::from(values[2]), Traits::from(values[3]));
          } else {
            alignas(16) T packed[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) packed[j] = Traits::from(values[j]);
            *reinterpret_cast<uint2*>(static_cast<T*>(p.out.view.data) + to + n) =
                *reinterpret_cast<const uint2*>(packed);
          }
          return;
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (n + j >= p.columns) break;
          const int offset = to + p.out.channel(n + j);
          if (p.out.view.single)
            static_cast<float*>(p.out.view.data)[offset] = values[j];
          else
            static_cast<T*>(p.out.view.data)[offset] = Traits::from(values[j]);
        }
      });
}

struct WeightProblem {
  DeviceView x, gradient;
  float *weights, *bias;
  bool vector_x, vector_gradient;
  int rows, columns;  ///< channels_out; taps * channels_in
  int pixels, channels_in, source_height, source_width, kernel, stride, padding;
  int width_out;
  Sharing sharing;
  Workspace workspace;
  Divider by_channels, by_image, by_width, by_splits;
};

/// weights[m][tap, channel] = sum over pixels of gradient[pixel][m] * x[pixel + tap][channel]; one
/// more column of ones gives the bias.
template <class T, class C, Fetch How>
__global__ void __launch_bounds__(C::threads, C::blocks) weight_product(const WeightProblem p) {
  using Product = typename C::template Product<T, true, true>;
  using Traits = OperandTraits<T>;
  extern __shared__ __align__(128) unsigned char shared[];
  T* ring = reinterpret_cast<T*>(ring_start<Product>(shared));
  const int column0 = blockIdx.x * C::columns, row0 = blockIdx.y * C::rows, split = blockIdx.z;
  const int steps_in_all = (p.pixels + C::depth - 1) / C::depth;
  const int steps_each = p.by_splits(steps_in_all + p.sharing.splits - 1);
  const int step0 = split * steps_each;
  const int steps = max(0, min(steps_each, steps_in_all - step0));

  struct Pixel {
    int image, row, column;
  };
  const auto pixel_of = [&](int number) {
    const int image = p.by_image(number), rest = number - image * p.by_image.divisor;
    const int row = p.by_width(rest);
    return Pixel{image, row, rest - row * p.width_out};
  };
  /// What a column of the right matrix stands for.
  struct Column {
    int tap_row, tap_column, channel;
    bool weight, bias;
  };
  const auto column_of = [&](int n) {
    const int tap = p.by_channels(n);
    return Column{tap / p.kernel - p.padding, tap % p.kernel - p.padding, n - tap * p.channels_in,
                  n < p.columns, n == p.columns};
  };

  constexpr int pieces = C::columns / Traits::vector;
  static_assert(C::threads % pieces == 0, "a thread stays in its column");
  const int my_piece = static_cast<int>(threadIdx.x) % pieces * Traits::vector;
  const Column mine = column_of(column0 + my_piece);

  // Where a stage's pixels begin in x, ready one stage ahead: the offset, and the row and column of
  // the kernel's first tap; a row far outside for pixels past the end.
  struct Place {
    int offset;
    short row, column;
  };
  __shared__ Place places[2][C::depth];
  const auto place = [&](int step) {
    for (int i = threadIdx.x; i < C::depth; i += C::threads) {
      const int number = (step0 + step) * C::depth + i;
      const Pixel pixel = pixel_of(min(number, p.pixels - 1));
      const int row = pixel.row * p.stride, column = pixel.column * p.stride;
      places[step % 2][i] = {p.x.pixel(pixel.image, row, column),
                             static_cast<short>(number < p.pixels ? row : -(1 << 14)),
                             static_cast<short>(column)};
    }
  };
  const int my_offset =
      mine.tap_row * p.x.view.row + mine.tap_column * p.x.view.column + mine.channel;
  const T* my_x = static_cast<const T*>(p.x.view.data) + my_offset;
  constexpr int inner_step = C::threads / pieces;
  static_assert(C::depth % inner_step == 0, "every thread copies as much of the right tile");
  const int my_inner = static_cast<int>(threadIdx.x) / pieces;

  // This thread's pieces of the left tile; contiguous over pixels, as `vector_gradient` promises.
  constexpr int left_pieces = C::rows / Traits::vector, left_step = C::threads / left_pieces;
  static_assert(C::depth % left_step == 0, "every thread copies as much of the left tile");
  const int left_inner = static_cast<int>(threadIdx.x) / left_pieces;
  const int left_piece = static_cast<int>(threadIdx.x) % left_pieces * Traits::vector;
  const bool left_inside = row0 + left_piece < p.rows;
  const T* my_gradient =
      static_cast<const T*>(p.gradient.view.data) + row0 + left_piece +
      static_cast<ptrdiff_t>(step0 * C::depth + left_inner) * p.gradient.view.column;

  // The column of ones stays in the ring.
  if ((How == Fetch::even || p.vector_x) && mine.bias) {
    for (int stage = 0; stage < C::stages; ++stage) {
      T* right = ring + stage * Product::stage_elements + Product::Left::elements;
      for (int inner = my_inner; inner < C::depth; inner += inner_step)
        for (int j = 0; j < Traits::vector; ++j)
          right[Product::Right::at(inner, my_piece + j)] = Traits::from(j == 0 ? 1.0f : 0.0f);
    }
  }

  // A copy of nothing reads nothing, wherever it points.
  const auto load = [&](int step) {
    T* left = ring + (step % C::stages) * Product::stage_elements;
    T* right = left + Product::Left::elements;
    const int pixel0 = (step0 + step) * C::depth;
    if (How == Fetch::even || p.vector_gradient) {
#pragma unroll
      for (int i = 0; i < C::depth / left_step; ++i) {
        const int inner = left_inner + i * left_step;
        copy_async(left + Product::Left::at(inner, left_piece),
                   my_gradient + static_cast<ptrdiff_t>(step * C::depth + i * left_step) *
                                     p.gradient.view.column,
                   left_inside && pixel0 + inner < p.pixels);
      }
    } else {
      for (int i = threadIdx.x; i < C::depth * C::rows; i += C::threads) {
        const int inner = i / C::rows, m = row0 + i % C::rows;
        const bool valid = pixel0 + inner < p.pixels && m < p.rows;
        const Pixel pixel = pixel_of(min(pixel0 + inner, p.pixels - 1));
        const float value =
            valid ? p.gradient.at<T>(p.gradient.pixel(pixel.image, pixel.row, pixel.column) +
                                     p.gradient.channel(m))
                  : 0.0f;
        left[Product::Left::at(inner, i % C::rows)] = Traits::from(value);
      }
    }
    if (How == Fetch::even || p.vector_x) {
      if (mine.bias) return;
#pragma unroll
      for (int i = 0; i < C::depth / inner_step; ++i) {
        const int inner = my_inner + i * inner_step;
        const Place at = places[step % 2][inner];
        copy_async(right + Product::Right::at(inner, my_piece), my_x + at.offset,
                   mine.weight && static_cast<unsigned>(at.row + mine.tap_row) < p.source_height &&
                       static_cast<unsigned>(at.column + mine.tap_column) < p.source_width);
      }
    } else {
      for (int i = threadIdx.x; i < C::depth * C::columns; i += C::threads) {
        const int inner = i / C::columns;
        const Column column = column_of(column0 + i % C::columns);
        const Pixel pixel = pixel_of(min(pixel0 + inner, p.pixels - 1));
        const int source_row = pixel.row * p.stride + column.tap_row;
        const int source_column = pixel.column * p.stride + column.tap_column;
        const bool valid = column.weight && pixel0 + inner < p.pixels &&
                           static_cast<unsigned>(source_row) < p.source_height &&
                           static_cast<unsigned>(source_column) < p.source_width;
        const float value = column.bias ? 1.0f
                            : valid ? p.x.at<T>(p.x.pixel(pixel.image, source_row, source_column) +
                                                p.x.channel(column.channel))
                                    : 0.0f;
        right[Product::Right::at(inner, i % C::columns)] = Traits::from(value);
      }
    }
  };

  Product product;
  product.run(ring, steps, load, place);
  float* result = reinterpret_cast<float*>(ring);
  product.spread(result);
  finish_tile<C>(
      result, p.sharing, p.workspace, blockIdx.y * gridDim.x + blockIdx.x, split,
      [](int, int) { return Nothing{}; },
      [&](int tile_row, int tile_column, float4 sum, Nothing) {
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
      });
}

/// Sums of a block's 32 channels over its share of the pixels; the last block of a group of
/// channels adds the shares in their order.
template <class T>
__global__ void __launch_bounds__(256)
    sum_pixels(const DeviceView x, int pixels, int channels, Divider by_image, Divider by_width,
               int width, bool contiguous, float* sums, Workspace workspace) {
  const int channel = blockIdx.x * 32 + threadIdx.x % 32, lane_row = threadIdx.x / 32;
  const int share = (pixels + gridDim.y - 1) / gridDim.y;
  const int end = min(pixels, static_cast<int>(blockIdx.y + 1) * share);
  float sum = 0.0f;
  if (channel < channels) {
    const int offset = x.channel(channel);
    const auto at = [&](int i) {
      if (contiguous) return i * x.view.column + offset;
      const int image = by_image(i), rest = i - image * static_cast<int>(by_image.divisor);
      const int row = by_width(rest);
      return x.pixel(image, row, rest - row * width) + offset;
    };
#pragma unroll 8
    for (int i = blockIdx.y * share + lane_row; i < end; i += 8) sum += x.at<T>(at(i));
  }
  __shared__ float parts[8][33];
  __shared__ int arrived;
  parts[lane_row][threadIdx.x % 32] = sum;
  __syncthreads();
  float* shares = workspace.sums + static_cast<size_t>(blockIdx.x) * gridDim.y * 32;
  if (threadIdx.x < 32) {
    float total = 0.0f;
    for (int i = 0; i < 8; ++i) total += parts[i][threadIdx.x];
    __stcg(shares + blockIdx.y * 32 + threadIdx.x, total);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) arrived = atomicAdd(workspace.counters + blockIdx.x, 1);
  __syncthreads();
  if (arrived != static_cast<int>(gridDim.y) - 1) return;
  __threadfence();
  float total = 0.0f;
  for (int i = lane_row; i < static_cast<int>(gridDim.y); i += 8)
    total += __ldcg(shares + i * 32 + threadIdx.x % 32);
  __syncthreads();
  parts[lane_row][threadIdx.x % 32] = total;
  __syncthreads();
  if (threadIdx.x < 32 && channel < channels) {
    float all = 0.0f;
    for (int i = 0; i < 8; ++i) all += parts[i][threadIdx.x];
    sums[channel] = all;
  }
  if (threadIdx.x == 0) workspace.counters[blockIdx.x] = 0;
}

}  // namespace facet::cuda
