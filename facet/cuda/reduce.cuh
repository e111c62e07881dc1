// Sums and maxima over a warp and over a block, always in the same order: the same numbers give the
// same bits on every run.
#pragma once

namespace facet::cuda {

constexpr unsigned whole_warp = 0xffffffffu;

template <typename Scalar>
__device__ inline Scalar warp_sum(Scalar value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(whole_warp, value, offset);
  return value;
}

template <typename Scalar>
__device__ inline Scalar warp_max(Scalar value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = max(value, __shfl_xor_sync(whole_warp, value, offset));
  return value;
}

/// The result is in every thread; `shared` has room for 32 numbers and may be used again at once.
template <typename Scalar>
__device__ inline Scalar block_sum(Scalar value, Scalar* shared) {
  value = warp_sum(value);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  value = warp_sum(lane < warps ? shared[lane] : Scalar(0));
  __syncthreads();
  return value;
}

template <typename Scalar>
__device__ inline Scalar block_max(Scalar value, Scalar* shared) {
  value = warp_max(value);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  value = warp_max(shared[lane < warps ? lane : 0]);
  __syncthreads();
  return value;
}

}  // namespace facet::cuda
