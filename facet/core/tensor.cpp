#include "facet/core/tensor.h"

#include "facet/core/torch.h"

namespace facet {

namespace {

template <typename Number>
std::vector<Number> elements(const torch::Tensor& values, torch::ScalarType type) {
  const torch::Tensor plain = values.detach().to(torch::kCPU, type).contiguous();
  return {plain.data_ptr<Number>(), plain.data_ptr<Number>() + plain.numel()};
}

}  // namespace

std::vector<double> to_doubles(const torch::Tensor& values) {
  return elements<double>(values, kFloat64);
}

std::vector<int64_t> to_integers(const torch::Tensor& values) {
  return elements<int64_t>(values, kInt64);
}

}  // namespace facet
