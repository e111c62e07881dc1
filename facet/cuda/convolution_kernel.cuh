// The kernels behind convolution.h. A block computes a tile of a matrix product; its operands pass
// through a ring of shared-memory stages that asynchronous copies fill, and warps multiply 16x8
// pieces on the tensor cores. The left matrix of `gather_product` is never written out: a row is a
// pixel of the result, a column one channel of one pixel under the kernel, fetched where it lies.
#pragma once

#include <algorithm>
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <type_traits>

#include "facet/cuda/convolution.h"

namespace facet::cuda {

/// Division by a number known at launch: a multiplication and a shift.
struct Divider {
  unsigned divisor = 1, multiplier = 0, shift = 0;

  Divider() = default;
  explicit Divider(int value) : divisor(static_cast<unsigned>(value)) {
    while ((1ull << shift) < divisor) ++shift;
    multiplier = static_cast<unsigned>((((1ull << shift) - divisor) << 32) / divisor + 1);
  }
  __device__ int operator()(int number) const {
    const unsigned n = static_cast<unsigned>(number);
    return static_cast<int>((__umulhi(n, multiplier) + n) >> shift);
  }
};

template <class T>
struct OperandTraits;
template <>
struct OperandTraits<__nv_bfloat16> {
  static constexpr int vector = 8, step = 16;  ///< elements of 16 bytes; of a product's inner side
  __device__ static __nv_bfloat16 from(float value) { return __float2bfloat16_rn(value); }
  __device__ static float to(__nv_bfloat16 value) { return __bfloat162float(value); }
};
template <>
struct OperandTraits<float> {
  static constexpr int vector = 4, step = 8;
  __device__ static float from(float value) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return __uint_as_float(bits);
  }
  __device__ static float to(float value) { return value; }
};

__device__ inline void copy_async(void* shared, const void* global, bool valid) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int bytes = valid ? 16 : 0;  // the rest of the 16 is filled with zeros
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global),
               "r"(bytes));
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;"); }
template <int Pending>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending));
}

/// A stage's piece of an operand: rows of the product's outer side with the inner side contiguous,
/// or the other way round ("inner_rows"). Rows are padded so that reading a column of 16-byte
/// pieces touches every bank once.
template <class T, int Outer, int Depth, bool InnerRows>
struct Tile {
  static constexpr int rows = InnerRows ? Depth : Outer;
  static constexpr int columns = InnerRows ? Outer : Depth;
  static constexpr int pitch =
      columns + (InnerRows && sizeof(T) == 4 ? 8 : OperandTraits<T>::vector);
  static constexpr int elements = rows * pitch;

  __device__ static int at(int row, int column) { return row * pitch + column; }
};

template <bool Transpose>
__device__ void load_matrices(unsigned (&registers)[4], const void* shared) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (Transpose)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(address));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(address));
}

template <class T>
struct LeftFragment {
  unsigned words[4];
};
template <class T>
struct RightFragment {
  unsigned words[2];
};

/// The 16 x step piece of the left operand at (outer, inner).
template <bool InnerRows, int Pitch>
__device__ void load_left(LeftFragment<__nv_bfloat16>& fragment, const __nv_bfloat16* tile,
                          int outer, int inner) {
  const int lane = threadIdx.x & 31;
  const __nv_bfloat16* from =
      InnerRows ? tile + (inner + (lane >> 4) * 8 + (lane & 7)) * Pitch + outer + (lane & 8)
                : tile + (outer + (lane & 15)) * Pitch + inner + (lane >> 4) * 8;
  load_matrices<InnerRows>(fragment.words, from);
}
template <bool InnerRows, int Pitch>
__device__ void load_left(LeftFragment<float>& fragment, const float* tile, int outer, int inner) {
  const int lane = threadIdx.x & 31;
  if constexpr (!InnerRows) {  // four words are a row of the 8x8 matrices that ldmatrix moves
    load_matrices<false>(fragment.words,
                         tile + (outer + (lane & 15)) * Pitch + inner + (lane >> 4) * 4);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      fragment.words[i] = __float_as_uint(
          tile[(inner + (lane & 3) + (i >> 1) * 4) * Pitch + outer + (lane >> 2) + (i & 1) * 8]);
  }
}

/// The step x 8 pieces of the right operand at (inner, outer + 8 i).
template <bool InnerRows, int Pitch, int Count>
__device__ void load_right(RightFragment<__nv_bfloat16> (&fragments)[Count],
                           const __nv_bfloat16* tile, int outer, int inner) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < Count; i += 2) {
    // Four 8x8 matrices are two pieces; a single last piece is loaded with its neighbour's lanes
    // pointing at itself.
    const int second = i + 1 < Count ? (lane >> 4) * 8 : 0;
    const __nv_bfloat16* from =
        InnerRows ? tile + (inner + (lane & 8) + (lane & 7)) * Pitch + outer + i * 8 + second
                  : tile + (outer + i * 8 + second + (lane & 7)) * Pitch + inner + (lane & 8);
    unsigned words[4];
    load_matrices<InnerRows>(words, from);
    fragments[i].words[0] = words[0];
    fragments[i].words[1] = words[1];
    if (i + 1 < Count) {
      fragments[i + 1].words[0] = words[2];
      fragments[i + 1].words[1] = words[3];
    }
  }
}
template <bool InnerRows, int Pitch, int Count>
__device__ void load_right(RightFragment<float> (&fragments)[Count], const float* tile, int outer,
                           int inner) {
  const int lane = threadIdx.x & 31;
  // Weights are full float32: round what the tensor core would cut.
  const auto rounded = [](unsigned word) {
    return __float_as_uint(OperandTraits<float>::from(__uint_as_float(word)));
  };
  if constexpr (!InnerRows) {
#pragma unroll
    for (int i = 0; i < Count; i += 2) {
      const int second = i + 1 < Count ? (lane >> 4) * 8 : 0;
      unsigned words[4];
      load_matrices<false>(words, tile + (outer + i * 8 + second + (lane & 7)) * Pitch + inner +
                                      ((lane >> 3) & 1) * 4);
      fragments[i].words[0] = rounded(words[0]);
      fragments[i].words[1] = rounded(words[1]);
      if (i + 1 < Count) {
        fragments[i + 1].words[0] = rounded(words[2]);
        fragments[i + 1].words[1] = rounded(words[3]);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        fragments[i].words[half] = rounded(__float_as_uint(
            tile[(inner + (lane & 3) + half * 4) * Pitch + outer + i * 8 + (lane >> 2)]));
  }
}

__device__ inline void multiply_add(float (&sum)[4], const LeftFragment<__nv_bfloat16>& a,
                                    const RightFragment<__nv_bfloat16>& b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]),
        "r"(b.words[1]));
}
__device__ inline void multiply_add(float (&sum)[4], const LeftFragment<float>& a,
                                    const RightFragment<float>& b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]),
        "r"(b.words[1]));
}

template <class T, class C, bool LeftInnerRows, bool RightInnerRows>
struct TileProduct;

/// How a block's tile is cut: Rows x Columns of the result over WarpRows x WarpColumns warps; a
/// stage of the ring holds Depth elements of the inner side.
template <int Rows, int Columns, int WarpRows, int WarpColumns, int Depth = 32, int Stages = 4>
struct Cut {
  static constexpr int rows = Rows, columns = Columns, depth = Depth, stages = Stages;
  static constexpr int warp_columns = WarpColumns;
  static constexpr int threads = 32 * WarpRows * WarpColumns;
  static constexpr int row_pieces = Rows / WarpRows / 16;
  static constexpr int column_pieces = Columns / WarpColumns / 8;
  static constexpr int result_pitch = Columns + 4;
  static constexpr int quads = Rows * Columns / 4;
  static constexpr int blocks = 0;  ///< that must fit a multiprocessor; 0 leaves it open
  template <class T, bool LeftInnerRows, bool RightInnerRows>
  using Product = TileProduct<T, Cut, LeftInnerRows, RightInnerRows>;
};

/// For stages that need no preparation.
struct Nothing {
  __device__ void operator()(int) const {}
};

/// The product of two tiles in shared memory added to a block's sums, which live in registers.
template <class T, class C, bool LeftInnerRows, bool RightInnerRows>
struct TileProduct {
  using Left = Tile<T, C::rows, C::depth, LeftInnerRows>;
  using Right = Tile<T, C::columns, C::depth, RightInnerRows>;
  static constexpr int stage_elements = Left::elements + Right::elements;
  static constexpr int alignment = 128;  ///< of the ring
  static constexpr int ring_bytes = C::stages * stage_elements * static_cast<int>(sizeof(T));
  static constexpr int result_bytes = C::rows * C::result_pitch * 4;
  static constexpr int shared_bytes = ring_bytes > result_bytes ? ring_bytes : result_bytes;

  float sums[C::row_pieces][C::column_pieces][4] = {};

  __device__ void add(const T* left, const T* right) {
    const int warp = threadIdx.x >> 5;
    const int row = warp / C::warp_columns * C::row_pieces * 16;
    const int column = warp % C::warp_columns * C::column_pieces * 8;
    constexpr int step = OperandTraits<T>::step, count = C::depth / step;
    // The next pieces are on their way while these are multiplied.
    LeftFragment<T> a[2][C::row_pieces];
    RightFragment<T> b[2][C::column_pieces];
    const auto fetch = [&](int i) {
#pragma unroll
      for (int piece = 0; piece < C::row_pieces; ++piece)
        load_left<LeftInnerRows, Left::pitch>(a[i & 1][piece], left, row + 16 * piece, i * step);
      load_right<RightInnerRows, Right::pitch>(b[i & 1], right, column, i * step);
    };
    fetch(0);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (i + 1 < count) fetch(i + 1);
#pragma unroll
      for (int m = 0; m < C::row_pieces; ++m)
#pragma unroll
        for (int n = 0; n < C::column_pieces; ++n)
          multiply_add(sums[m][n], a[i & 1][m], b[i & 1][n]);
    }
  }

  /// Sums `steps` stages; `load(step)` begins the copies of one, in their order, and
  /// `prepare(step)` does what every thread's load of it reads.
  template <class Load, class Prepare>
  __device__ void run(T* ring, int steps, Load load, Prepare prepare) {
    constexpr bool prepares = !std::is_same_v<Prepare, Nothing>;
    for (int step = 0; step < C::stages - 1; ++step) {
      prepare(step);
      if (prepares) __syncthreads();
      if (step < steps) load(step);
      commit_copies();
    }
    prepare(C::stages - 1);
    for (int step = 0; step < steps; ++step) {
      wait_copies<C::stages - 2>();
      __syncthreads();
      if (step + C::stages - 1 < steps) load(step + C::stages - 1);
      commit_copies();
      prepare(step + C::stages);
      const T* left = ring + (step % C::stages) * stage_elements;
      add(left, left + Left::elements);
    }
  }

  /// The sums as rows in shared memory, where any thread can read any of them.
  __device__ void spread(float* result) const {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int row = warp / C::warp_columns * C::row_pieces * 16 + (lane >> 2);
    const int column = warp % C::warp_columns * C::column_pieces * 8 + (lane & 3) * 2;
    wait_copies<0>();
    __syncthreads();  // the ring has been read by everyone
#pragma unroll
    for (int i = 0; i < C::row_pieces; ++i)
#pragma unroll
      for (int j = 0; j < C::column_pieces; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float* to = result + (row + 16 * i + 8 * half) * C::result_pitch + column + 8 * j;
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

/// Blocks that share a sum: clusters of up to eight neighbours in the grid's z, which read each
/// other's shared memory, and several clusters, which meet in global memory.
struct Sharing {
  int splits = 1, cluster = 1;
};

/// Adds the shares of a tile in a fixed order and hands out the sums, four neighbours in a row at a
/// time; every block of a cluster finishes its part of the tile. `fetch(row, column)` reads what
/// `store(row, column, sum, fetched)` needs besides: of a large tile several at once, since each
/// has a long way.
template <class C, class Fetched, class Store>
__device__ void finish_tile(const float* result, const Sharing& sharing, const Workspace& workspace,
                            int tile, int split, Fetched fetch, Store store) {
  namespace groups = cooperative_groups;
  const groups::cluster_group cluster = groups::this_cluster();
  constexpr int row_quads = C::columns / 4;
  const int rank = split % sharing.cluster, clusters = sharing.splits / sharing.cluster;
  const int share = C::quads / sharing.cluster;
  if (sharing.cluster > 1) cluster.sync();
  const auto sum_of = [&](int quad) {
    const int at = quad / row_quads * C::result_pitch + quad % row_quads * 4;
    float4 sum = make_float4(0, 0, 0, 0);
    if (sharing.cluster == 1) return *reinterpret_cast<const float4*>(result + at);
    for (int other = 0; other < sharing.cluster; ++other) {
      const float4 part = *reinterpret_cast<const float4*>(
          cluster.map_shared_rank(const_cast<float*>(result), other) + at);
      sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
    }
    return sum;
  };
  const int begin = rank * share, end = begin + share;
  const auto finish = [&](auto sum_at) {
    constexpr int together = C::quads / C::threads < 16 ? 1 : C::blocks > 0 ? 8 : 4;
    for (int first = begin + threadIdx.x; first < end; first += together * C::threads) {
      decltype(fetch(0, 0)) fetched[together];
      float4 sums[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int quad = first + i * C::threads;
        if (quad >= end) break;
        fetched[i] = fetch(quad / row_quads, quad % row_quads * 4);
        sums[i] = sum_at(quad);
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int quad = first + i * C::threads;
        if (quad >= end) break;
        store(quad / row_quads, quad % row_quads * 4, sums[i], fetched[i]);
      }
    }
  };
  if (clusters == 1) {
    finish(sum_of);
  } else {
    float4* parts =
        reinterpret_cast<float4*>(workspace.sums) + static_cast<size_t>(tile) * clusters * C::quads;
    float4* mine = parts + static_cast<size_t>(split / sharing.cluster) * C::quads;
    for (int quad = begin + threadIdx.x; quad < end; quad += C::threads)
      __stcg(mine + quad, sum_of(quad));
    __threadfence();
    __shared__ int arrived;
    int* counter = workspace.counters + tile * sharing.cluster + rank;
    __syncthreads();
    if (threadIdx.x == 0) arrived = atomicAdd(counter, 1);
    __syncthreads();
    if (arrived == clusters - 1) {
      __threadfence();
      finish([&](int quad) {
        float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
        for (int part = 0; part < clusters; ++part) {
          const float4 more = __ldcg(parts + static_cast<size_t>(part) * C::quads + quad);
          sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
        }
        return sum;
      });
      if (threadIdx.x == 0) *counter = 0;
    }
  }
  if (sharing.cluster > 1) cluster.sync();  // nobody leaves while others read its memory
}

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

inline int divide_up(int a, int b) { return (a + b - 1) / b; }

/// A launch with the shared memory that it needs, in clusters of blocks along the grid's z. (To let
/// a kernel begin while the one before it ends made a step a sixth slower.)
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, int threads, int shared_bytes, int cluster,
            cudaStream_t stream, const Arguments&... arguments) {
  // Over 48 KiB needs leave, once a kernel; asking again costs nothing on the device.
  if (shared_bytes > 48 * 1024)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {1, 1, static_cast<unsigned>(cluster)};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = cluster > 1 ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

/// How many blocks share a sum of `steps` stages so that the card's 132 multiprocessors have work.
inline Sharing choose_sharing(int wanted_blocks, int tiles, int steps, int tile_elements) {
  constexpr int fewest_steps = 4, most = 128;
  int splits = std::min({most, wanted_blocks / tiles, steps / fewest_steps});
  if (splits < 2) return {};
  Sharing sharing;
  while (sharing.cluster < 8 && sharing.cluster * 2 <= splits) sharing.cluster *= 2;
  const auto fits = [&](int clusters) {
    return static_cast<size_t>(tiles) * clusters * tile_elements <= workspace_sums &&
           static_cast<size_t>(tiles) * sharing.cluster <= workspace_counters;
  };
  int clusters = splits / sharing.cluster;
  while (clusters > 1 && !fits(clusters)) --clusters;
  sharing.splits = clusters * sharing.cluster;
  return sharing;
}

/// The same for cuts that say how many of their blocks a multiprocessor holds: all of them run at
/// once. Clusters of four meet fastest.
inline Sharing fill_card(int blocks, int tiles, int steps, int most) {
  const int splits = std::min({most, 132 * blocks / tiles, steps / 4});
  if (splits >= 4) return {splits / 4 * 4, 4};
  return splits == 2 ? Sharing{2, 2} : Sharing{std::max(splits, 1), 1};
}

/// `sharing` with no splits chooses.
template <class T, class C, bool Transposed, Fetch How>
void launch_gather(GatherProblem problem, cudaStream_t stream, Sharing sharing = {0, 1}) {
  using Product = typename C::template Product<T, false, Transposed>;
  const int phases = Transposed ? problem.stride * problem.stride : 1;
  const int step = Transposed ? problem.stride : 1;
  const int rows =
      problem.batch * divide_up(problem.out_height, step) * divide_up(problem.out_width, step);
  const int row_tiles = divide_up(rows, C::rows);
  const int column_tiles = divide_up(problem.columns, C::columns);
  const int taps = divide_up(problem.kernel, step);
  const int tiles = row_tiles * column_tiles * phases;
  const int steps = divide_up(taps * taps * problem.channels, C::depth);
  problem.sharing = sharing.splits > 0 ? sharing
                    : C::blocks > 0    ? fill_card(C::blocks, tiles, steps, 2)
                                       : choose_sharing(200, tiles, steps, C::rows * C::columns);
  problem.by_splits = Divider(problem.sharing.splits);
  launch(gather_product<T, C, Transposed, How>,
         dim3(row_tiles, column_tiles, phases * problem.sharing.splits), C::threads,
         Product::shared_bytes, problem.sharing.cluster, stream, problem);
}

/// Whether the current device has the warpgroup instructions of convolution_wgmma.cu, which take
/// the largest bfloat16 tiles there.
bool has_warpgroups();
template <bool Transposed>
void warpgroup_gather(const GatherProblem& problem, cudaStream_t stream);
void warpgroup_weights(const WeightProblem& problem, cudaStream_t stream);

/// Products of very many rows with few columns, in convolution_rows.cu; false for others.
bool try_row_product(const GatherProblem& problem, bool transposed, cudaStream_t stream);

/// For few rows and many weights, which pass by once: many of them on their way at a time.
template <class T>
using LongCut = Cut<64, 64, 2, 2, 128 / static_cast<int>(sizeof(T)), 4>;
template <class T>
using WideCut = Cut<64, 128, 2, 4, 128 / static_cast<int>(sizeof(T)), 4>;

/// The largest tile; its ring takes half of a multiprocessor's shared memory.
template <class T>
using LargeCut = Cut<128, 128, 2, 4, 128 / static_cast<int>(sizeof(T)), 3>;
using MediumCut = Cut<64, 64, 2, 2>;
using SmallCut = Cut<64, 32, 2, 2>;
using TinyCut = Cut<32, 32, 2, 2>;
using NarrowCut = Cut<64, 8, 4, 1>;

/// Tiles small enough that the card is full, large enough that operands are reused.
template <class T, bool Transposed>
void choose_gather(const GatherProblem& problem, cudaStream_t stream) {
  const int n = problem.columns;
  const int rows = problem.batch * problem.out_height * problem.out_width;
  const auto tiles = [&](int r, int c) { return divide_up(rows, r) * divide_up(n, c); };
  const bool even = problem.vector_source && problem.vector_weights &&
                    problem.known_channels == 0 && problem.channels % TinyCut::depth == 0 &&
                    problem.kernel * problem.kernel <= 32;
  if constexpr (sizeof(T) == 2)
    if (try_row_product(problem, Transposed, stream)) return;
  if (!even) {
    if (n <= 8) return launch_gather<T, NarrowCut, Transposed, Fetch::any>(problem, stream);
    if (n <= 32) return launch_gather<T, SmallCut, Transposed, Fetch::any>(problem, stream);
    return launch_gather<T, MediumCut, Transposed, Fetch::any>(problem, stream);
  }
  if (n <= 8) return launch_gather<T, NarrowCut, Transposed, Fetch::even>(problem, stream);
  if (n >= 96 && tiles(128, 128) >= 48 && problem.channels % LargeCut<T>::depth == 0) {
    if constexpr (sizeof(T) == 2)
      if (has_warpgroups()) return warpgroup_gather<Transposed>(problem, stream);
    return launch_gather<T, LargeCut<T>, Transposed, Fetch::even>(problem, stream);
  }
  if (rows <= 64 && problem.kernel == 1 && static_cast<size_t>(n) * problem.channels >= 1 << 21 &&
      problem.channels % LongCut<T>::depth == 0) {
    if (tiles(64, 128) >= 100)
      return launch_gather<T, WideCut<T>, Transposed, Fetch::even>(problem, stream);
    const int steps = problem.channels / LongCut<T>::depth;
    return launch_gather<T, LongCut<T>, Transposed, Fetch::even>(
        problem, stream, choose_sharing(250, tiles(64, 64), steps, 64 * 64));
  }
  if (n > 32 && tiles(64, 64) >= 100)
    return launch_gather<T, MediumCut, Transposed, Fetch::even>(problem, stream);
  if (tiles(64, 32) >= 100)
    return launch_gather<T, SmallCut, Transposed, Fetch::even>(problem, stream);
  return launch_gather<T, TinyCut, Transposed, Fetch::even>(problem, stream);
}

template <class T, class C, Fetch How>
void launch_weights(WeightProblem problem, cudaStream_t stream, Sharing sharing = {0, 1}) {
  using Product = typename C::template Product<T, true, true>;
  const int columns = problem.columns + (problem.bias ? 1 : 0);
  const int column_tiles = divide_up(columns, C::columns);
  const int row_tiles = divide_up(problem.rows, C::rows);
  const int tiles = row_tiles * column_tiles, steps = divide_up(problem.pixels, C::depth);
  problem.sharing = sharing.splits > 0 ? sharing
                    : C::blocks > 0    ? fill_card(C::blocks, tiles, steps, 64)
                                       : choose_sharing(C::rows >= 128 ? 300 : 640, tiles, steps,
                                                     C::rows * C::columns);
  problem.by_splits = Divider(problem.sharing.splits);
  launch(weight_product<T, C, How>, dim3(column_tiles, row_tiles, problem.sharing.splits),
         C::threads, Product::shared_bytes, problem.sharing.cluster, stream, problem);
}

template <class T>
void choose_weights(const WeightProblem& problem, cudaStream_t stream) {
  const auto tiles = [&](int r, int c) {
    return divide_up(problem.rows, r) * divide_up(problem.columns, c);
  };
  if (!problem.vector_x || !problem.vector_gradient) {
    if (problem.rows <= 32) return launch_weights<T, TinyCut, Fetch::any>(problem, stream);
    return launch_weights<T, MediumCut, Fetch::any>(problem, stream);
  }
  if (problem.rows >= 96 && tiles(128, 128) >= 16) {
    if constexpr (sizeof(T) == 2)
      if (has_warpgroups()) return warpgroup_weights(problem, stream);
    return launch_weights<T, LargeCut<T>, Fetch::even>(problem, stream);
  }
  if (problem.rows > 32) return launch_weights<T, MediumCut, Fetch::even>(problem, stream);
  return launch_weights<T, TinyCut, Fetch::even>(problem, stream);
}

/// Whether rows of channels can be copied in pieces of 16 bytes.
template <class T>
bool aligned(const View& view, int channels, bool one_pixel = false) {
  constexpr int vector = OperandTraits<T>::vector;
  const auto whole = [](int stride) { return stride % vector == 0; };
  return (!view.single || sizeof(T) == 4) && view.channel == 1 && view.channel_group == 1 &&
         channels % vector == 0 && whole(view.batch) &&
         (one_pixel || (whole(view.row) && whole(view.column))) &&
         reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

template <class T, bool Transposed>
GatherProblem gather_problem(const ConvolutionSizes& sizes, const View& source, const void* weights,
                             const Finish& finish, const Workspace& workspace) {
  GatherProblem problem{};
  problem.source = source;
  problem.out = finish.out;
  problem.mask = finish.mask;
  problem.weights = weights;
  problem.bias = finish.bias;
  problem.relu = finish.relu;
  problem.batch = sizes.batch;
  problem.columns = Transposed ? sizes.channels_in : sizes.channels_out;
  problem.channels = Transposed ? sizes.channels_out : sizes.channels_in;
  problem.source_height = Transposed ? sizes.height_out : sizes.height_in;
  problem.source_width = Transposed ? sizes.width_out : sizes.width_in;
  problem.out_height = Transposed ? sizes.height_in : sizes.height_out;
  problem.out_width = Transposed ? sizes.width_in : sizes.width_out;
  problem.kernel = sizes.kernel;
  problem.stride = sizes.stride;
  problem.padding = sizes.padding;
  problem.workspace = workspace;
  problem.by_channels = Divider(problem.channels);
  problem.by_stride = Divider(sizes.stride);
  // A float32 source is rounded on its way, which a plain copy would not do.
  problem.vector_source = !source.single && aligned<T>(source, problem.channels);
  const int inner = sizes.known_channels > 0 ? sizes.known_channels
                                             : sizes.kernel * sizes.kernel * sizes.channels_in;
  const int contiguous = Transposed ? sizes.channels_in : inner;
  problem.vector_weights =
      contiguous % OperandTraits<T>::vector == 0 && reinterpret_cast<uintptr_t>(weights) % 16 == 0;
  const int step = Transposed ? sizes.stride : 1;
  problem.most_rows = divide_up(problem.out_height, step);
  problem.most_columns = divide_up(problem.out_width, step);
  for (int i = 0; i < 2; ++i) {
    const auto side = [&](int whole, int fewer) {
      return std::max(1, divide_up(whole, step) - fewer);
    };
    problem.by_columns[i] = Divider(side(problem.out_width, i));
    for (int j = 0; j < 2; ++j)
      problem.by_pixels[i][j] = Divider(side(problem.out_height, i) * side(problem.out_width, j));
  }
  problem.vector_mask =
      finish.mask.data && !finish.mask.single && aligned<T>(finish.mask, problem.columns);
  problem.known_channels = sizes.known_channels;
  const View& out = finish.out;
  problem.vector_out = out.channel == 1 && out.channel_group == 1 && out.batch % 4 == 0 &&
                       out.row % 4 == 0 && out.column % 4 == 0 &&
                       reinterpret_cast<uintptr_t>(out.data) % 16 == 0;
  return problem;
}

template <class T, bool Transposed>
void gather(const ConvolutionSizes& sizes, const View& source, const void* weights,
            const Finish& finish, const Workspace& workspace, cudaStream_t stream) {
  choose_gather<T, Transposed>(
      gather_problem<T, Transposed>(sizes, source, weights, finish, workspace), stream);
}

template <class T>
WeightProblem weight_problem(const ConvolutionSizes& sizes, const View& x, const View& y_gradient,
                             float* weights_gradient, float* bias_gradient,
                             const Workspace& workspace) {
  WeightProblem problem{};
  problem.x = x;
  problem.gradient = y_gradient;
  problem.weights = weights_gradient;
  problem.bias = bias_gradient;
  // Patches stand on the side that has more channels than the weights know.
  const bool x_patches = sizes.known_channels > 0 && !sizes.known_side_out;
  const bool y_patches = sizes.known_channels > 0 && sizes.known_side_out;
  problem.rows = y_patches ? sizes.known_channels : sizes.channels_out;
  problem.columns =
      x_patches ? sizes.known_channels : sizes.kernel * sizes.kernel * sizes.channels_in;
  problem.pixels = sizes.batch * sizes.height_out * sizes.width_out;
  problem.channels_in = sizes.channels_in;
  problem.source_height = sizes.height_in;
  problem.source_width = sizes.width_in;
  problem.kernel = sizes.kernel;
  problem.stride = sizes.stride;
  problem.padding = sizes.padding;
  problem.width_out = sizes.width_out;
  problem.workspace = workspace;
  problem.by_channels = Divider(sizes.channels_in);
  problem.by_image = Divider(sizes.height_out * sizes.width_out);
  problem.by_width = Divider(sizes.width_out);
  problem.vector_x = !x.single && aligned<T>(x, sizes.channels_in);
  const bool one_pixel = sizes.height_out * sizes.width_out == 1;
  const bool contiguous = one_pixel || (y_gradient.row == y_gradient.column * sizes.width_out &&
                                        y_gradient.batch == y_gradient.row * sizes.height_out);
  problem.vector_gradient =
      !y_gradient.single && contiguous && aligned<T>(y_gradient, sizes.channels_out, one_pixel);
  if (one_pixel) problem.gradient.view.column = y_gradient.batch;  // pixels are images
  return problem;
}

template <class T>
void weights(const ConvolutionSizes& sizes, const View& x, const View& y_gradient,
             float* weights_gradient, float* bias_gradient, const Workspace& workspace,
             cudaStream_t stream) {
  choose_weights<T>(
      weight_problem<T>(sizes, x, y_gradient, weights_gradient, bias_gradient, workspace), stream);
}

}  // namespace facet::cuda
