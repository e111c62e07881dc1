#include "arrays.h"

#include <vector>

#include <ATen/DLConvertor.h>
#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"

namespace facet::python {

namespace py = pybind11;

namespace {

struct Type {
  char kind;  ///< as NumPy has it
  int64_t bytes;
  torch::ScalarType type;
};
constexpr Type types[] = {{'u', 1, kUInt8},   {'b', 1, at::kBool}, {'i', 1, kInt8},
                          {'i', 2, kInt16},   {'i', 4, kInt32},    {'i', 8, kInt64},
                          {'f', 4, kFloat32}, {'f', 8, kFloat64}};

torch::Tensor share(const py::array& array, const char* what) {
  const py::dtype dtype = array.dtype();
  for (const Type& type : types) {
    if (dtype.kind() != type.kind || dtype.itemsize() != type.bytes) continue;
    std::vector<int64_t> sizes, strides;
    bool steps_fit = dtype.byteorder() == '=' || dtype.byteorder() == '|';
    for (py::ssize_t d = 0; d < array.ndim(); ++d) {
      sizes.push_back(array.shape(d));
      strides.push_back(array.strides(d) / type.bytes);
      steps_fit = steps_fit && array.strides(d) >= 0 && array.strides(d) % type.bytes == 0;
    }
    if (!steps_fit) {  // reversed, or of another byte order: NumPy makes a plain copy
      const py::object plain = py::module_::import("numpy").attr("array")(
          array, dtype.attr("newbyteorder")("="), py::arg("order") = "C");
      return share(plain, what).clone();
    }
    return torch::from_blob(const_cast<void*>(array.data()), sizes, strides,
                            torch::TensorOptions(type.type));
  }
  throw Error(
      {.doing = fmt::format("reading {} from an array", what),
       .found = fmt::format("numbers of type {}", py::str(dtype.attr("name")).cast<std::string>()),
       .expected = "uint8, bool, int8 to int64, float32 or float64"});
}

torch::Tensor take(const py::object& exporter) {
  const py::capsule capsule = exporter.attr("__dlpack__")();
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  torch::Tensor tensor = at::fromDLPack(managed);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // the tensor owns it now
  return tensor;
}

}  // namespace

torch::Tensor to_tensor(const py::object& array, const char* what) {
  if (py::isinstance<py::array>(array)) return share(array, what);
  if (py::hasattr(array, "__dlpack__")) return take(array);
  throw Error(
      {.doing = fmt::format("reading {}", what),
       .found = fmt::format("an object of type {}",
                            py::str(py::type::of(array).attr("__name__")).cast<std::string>()),
       .expected = "a NumPy array, or one with __dlpack__"});
}

py::array to_array(const torch::Tensor& tensor) {
  auto owner = std::make_unique<torch::Tensor>(tensor.detach().to(torch::kCPU).contiguous());
  for (const Type& type : types) {
    if (owner->scalar_type() != type.type) continue;
    const std::vector<py::ssize_t> sizes(owner->sizes().begin(), owner->sizes().end());
    const py::dtype dtype(fmt::format("{}{}", type.kind, type.bytes));
    void* data = owner->data_ptr();
    const py::capsule keep(owner.release(),
                           [](void* memory) { delete static_cast<torch::Tensor*>(memory); });
    return py::array(dtype, sizes, data, keep);
  }
  throw std::logic_error("a tensor of a type that NumPy does not have");
}

}  // namespace facet::python
