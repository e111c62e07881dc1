// LibTorch's tensor class and its types without the operations, for our headers: it compiles in a
// second or two, torch/torch.h in eleven. Files that compute include facet/core/torch.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch {
using namespace at;  // NOLINT: as torch/types.h does, so that both headers give the same names
}

namespace facet {

/// Types by their width; torch/types.h has these names in namespace torch.
inline constexpr auto kUInt8 = at::kByte;
inline constexpr auto kInt8 = at::kChar;
inline constexpr auto kInt16 = at::kShort;
inline constexpr auto kInt32 = at::kInt;
inline constexpr auto kInt64 = at::kLong;
inline constexpr auto kFloat16 = at::kHalf;
inline constexpr auto kFloat32 = at::kFloat;
inline constexpr auto kFloat64 = at::kDouble;

/// Tensors with their names, in order.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// All elements in order, on any device and of any type.
std::vector<double> to_doubles(const torch::Tensor& values);
std::vector<int64_t> to_integers(const torch::Tensor& values);

}  // namespace facet
