// NumPy arrays and DLPack capsules as tensors, and back, without copies: both sides share the
// memory, and whoever lives longer keeps it.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "facet/core/tensor.h"

namespace facet::python {

/// A tensor over the memory of a NumPy array, or of anything with `__dlpack__` (a tensor of
/// PyTorch, JAX, CuPy). `what` names it in errors. The tensor must not outlive `array`, and is only
/// read.
torch::Tensor to_tensor(const pybind11::object& array, const char* what);

/// An array over the memory of a tensor, which is copied only if it is on a GPU or not contiguous.
pybind11::array to_array(const torch::Tensor& tensor);

}  // namespace facet::python
