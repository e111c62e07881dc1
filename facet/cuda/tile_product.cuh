// The product of two tiles of matrices by one block, whatever the matrices are: operands pass
// through a ring of shared-memory stages that asynchronous copies fill, warps multiply 16x8 pieces
// on the tensor cores, and blocks that share a sum add their parts in a fixed order.
#pragma once

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

}  // namespace facet::cuda
