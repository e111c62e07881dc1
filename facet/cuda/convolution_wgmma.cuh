// The products of tile_product.cuh by Hopper's warpgroup instructions (wgmma, sm_90a): four warps
// multiply 64 rows with 128 columns that the tensor cores read from shared memory themselves, while
// the warps go on. Tiles lie there in rows of 128 bytes with the 128-byte swizzle, so that neither
// copies nor products have bank conflicts.
#pragma once

#include "facet/cuda/convolution_launch.cuh"

namespace facet::cuda {

/// One stage's piece of an operand in rows of 64 numbers. With the inner side contiguous a row is
/// one of the outer side; the other way round ("inner_rows") blocks of 64 outer columns follow each
/// other, a row for each of the 64 inner numbers.
template <int Outer, bool InnerRows>
struct SwizzledTile {
  static constexpr int width = 64;
  static constexpr int rows = InnerRows ? width : Outer;
  static constexpr int columns = InnerRows ? Outer : width;
  static constexpr int elements = Outer * width;

  __device__ static int at(int row, int column) {
    const int block = InnerRows ? column / width * width * width : 0;
    const int piece = column % width / 8 ^ row % 8;
    return block + row * width + piece * 8 + column % 8;
  }
  /// The matrix descriptor of the tile at `shared`: its address, the bytes from a block of 64
  /// columns to the next, the bytes between groups of eight rows, the 128-byte swizzle.
  __device__ static uint64_t descriptor(const __nv_bfloat16* shared) {
    const uint64_t address = static_cast<uint64_t>(__cvta_generic_to_shared(shared));
    constexpr uint64_t next_block = InnerRows ? width * width * 2 : 16, next_group = 8 * width * 2;
    return (address & 0x3ffff) >> 4 | next_block >> 4 << 16 | next_group >> 4 << 32 |
           uint64_t{1} << 62;
  }
  /// What 16 more of the inner side, and 64 more of the outer side, add to a descriptor.
  static constexpr uint64_t inner_step = (InnerRows ? 16 * width * 2 : 16 * 2) >> 4;
  static constexpr uint64_t outer_step = (width * width * 2) >> 4;
};

__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
/// Makes this thread's copies and stores to shared memory visible to the tensor cores.
__device__ inline void fence_shared_memory() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// clang-format off
#define FACET_SUMS_4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define FACET_SUMS_16(i) FACET_SUMS_4(i), FACET_SUMS_4(i + 4), FACET_SUMS_4(i + 8), FACET_SUMS_4(i + 12)

/// sums += the 64 x 16 piece of the left operand times the 16 x 128 piece of the right one.
template <bool LeftInnerRows, bool RightInnerRows>
__device__ void multiply_add(float (&sums)[64], uint64_t left, uint64_t right) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.eq.u32 add, 1, 1;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
      " %64, %65, add, 1, 1, %66, %67;\n"
      "}\n"
      : FACET_SUMS_16(0), FACET_SUMS_16(16), FACET_SUMS_16(32), FACET_SUMS_16(48)
      : "l"(left), "l"(right), "n"(static_cast<int>(LeftInnerRows)),
        "n"(static_cast<int>(RightInnerRows)));
}

#undef FACET_SUMS_4
#undef FACET_SUMS_16
// clang-format on

/// As TileProduct, by two warpgroups, each with half of the rows.
template <class Shape, bool LeftInnerRows, bool RightInnerRows>
struct WarpgroupProduct {
  using T = __nv_bfloat16;
  using Left = SwizzledTile<Shape::rows, LeftInnerRows>;
  using Right = SwizzledTile<Shape::columns, RightInnerRows>;
  static constexpr int stage_elements = Left::elements + Right::elements;
  static constexpr int alignment = 1024;
  static constexpr int ring_bytes = Shape::stages * stage_elements * 2;
  static constexpr int result_bytes = Shape::rows * Shape::result_pitch * 4;
  static constexpr int shared_bytes =
      (ring_bytes > result_bytes ? ring_bytes : result_bytes) + alignment;
  static_assert(Shape::rows == 128 && Shape::columns == 128 && Shape::threads == 256,
                "as multiply_add has it");

  float sums[64] = {};

  __device__ void add(const T* left, const T* right) {
    // The same for a whole warpgroup, which the compiler cannot see by itself.
    const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
    const uint64_t left_tile =
        Left::descriptor(left) + static_cast<uint64_t>(group) * Left::outer_step;
    const uint64_t right_tile = Right::descriptor(right);
    begin_products();
#pragma unroll
    for (int i = 0; i < Shape::depth / 16; ++i)
      multiply_add<LeftInnerRows, RightInnerRows>(sums, left_tile + i * Left::inner_step,
                                                  right_tile + i * Right::inner_step);
    commit_products();
  }

  /// As TileProduct's.
  template <class Load, class Prepare>
  __device__ void run(T* ring, int steps, Load load, Prepare prepare) {
    constexpr bool prepares = !std::is_same_v<Prepare, NoPreparation>;
    constexpr int ahead = Shape::stages - 1;
    for (int step = 0; step < ahead; ++step) {
      prepare(step);
      if (prepares) __syncthreads();
      if (step < steps) load(step);
      commit_copies();
    }
    prepare(ahead);
    for (int step = 0; step < steps; ++step) {
      wait_copies<ahead - 1>();
      fence_shared_memory();
      wait_products();
      __syncthreads();  // everyone's copies are there, and nobody reads what is filled next
      const T* left = ring + (step % Shape::stages) * stage_elements;
      add(left, left + Left::elements);
      if (step + ahead < steps) load(step + ahead);
      commit_copies();
      prepare(step + ahead + 1);
    }
    wait_products();
#pragma unroll
    for (int i = 0; i < 64; ++i)
      asm volatile("" : "+f"(sums[i])::"memory");  // no sum is read before
  }

  /// As TileProduct's.
  __device__ void write_sums(float* result) const {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int row = warp * 16 + (lane >> 2), column = (lane & 3) * 2;
    wait_copies<0>();
    __syncthreads();  // the ring has been read by everyone
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      float* to = result + (row + i % 2 * 8) * Shape::result_pitch + column + i / 2 * 8;
      *reinterpret_cast<float2*>(to) = make_float2(sums[2 * i], sums[2 * i + 1]);
    }
    __syncthreads();
  }
};

/// The tile of two warpgroups. Two blocks share a multiprocessor: while one fills its ring or
/// finishes, the other multiplies.
struct WarpgroupTile {
  static constexpr int rows = 128, columns = 128, depth = 64, stages = 3;
  static constexpr int threads = 256, blocks = 2;
  static constexpr int result_pitch = columns + 4;
  static constexpr int quads = rows * columns / 4;
  template <class T, bool LeftInnerRows, bool RightInnerRows>
  using Product = WarpgroupProduct<WarpgroupTile, LeftInnerRows, RightInnerRows>;
};

}  // namespace facet::cuda
