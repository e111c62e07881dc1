// Whether a kernel computes, for the files of this folder and for prior/mixture_kernels.cpp: the
// choice between a kernel and its formula is made there, and nobody else asks.
#pragma once

#include "facet/core/tensor.h"
#include "facet/cuda/gpu.h"

namespace facet::ops {

/// Whether `tensor` is of the type that a kernel reads, on a GPU that our kernels run on.
inline bool kernel_computes(const torch::Tensor& tensor, torch::ScalarType type) {
  return tensor.scalar_type() == type && cuda::kernels_available(tensor.device());
}

}  // namespace facet::ops
