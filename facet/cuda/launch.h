// What the files that launch kernels share: the stream to launch on, pointers into tensors, and
// cutting a long list into launches. For CUDA files only.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "facet/core/torch.h"

namespace facet::cuda {

/// Calls `work` with the current stream of the GPU that holds `where`.
template <typename Work>
void launch(const torch::Tensor& where, const Work& work) {
  const c10::cuda::CUDAGuard device(where.device());
  work(at::cuda::getCurrentCUDAStream().stream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

/// Null for an undefined tensor.
template <typename Scalar>
Scalar* pointer(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<Scalar>() : nullptr;
}

inline torch::Tensor contiguous(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

/// Float64 on the same device.
inline torch::TensorOptions float64_like(const torch::Tensor& tensor) {
  return tensor.options().dtype(kFloat64).requires_grad(false);
}

/// Calls `work` with ranges [begin, end) of at most `most` of `count` things: a launch takes its
/// arguments by value, so that only so many fit.
template <typename Work>
void in_ranges(size_t count, size_t most, const Work& work) {
  for (size_t begin = 0; begin < count; begin += most) work(begin, std::min(count, begin + most));
}

}  // namespace facet::cuda
