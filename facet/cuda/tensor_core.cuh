// Operands of the tensor cores: their types, asynchronous copies into shared memory, and the
// 16 x 8 pieces of a product that one warp computes (ldmatrix and mma.sync).
#pragma once

#include <cuda_bf16.h>

namespace facet::cuda {

template <class T>
struct OperandTraits;
template <>
struct OperandTraits<__nv_bfloat16> {
  static constexpr int vector = 8, step = 16;  ///< elements of 16 bytes; inner length of one mma
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

/// Begins to copy 16 bytes to shared memory; zeros where not valid, which reads nothing.
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

}  // namespace facet::cuda
