#include "facet/train/finite_check.h"

#include <cmath>

#include "facet/core/torch.h"

namespace facet {

std::optional<std::string> find_not_finite(const DebugTensors& debug,
                                           const NamedTensors& parameters) {
  if (!debug.finite.defined() || std::isfinite(debug.finite.item<double>())) return {};
  NamedTensors tensors = debug.tensors;
  for (auto& entry : gradients_and_parameters(parameters)) tensors.push_back(entry);
  const std::string name = first_not_finite(tensors);
  return name.empty() ? "the gradient's norm" : name;
}

std::string first_not_finite(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors)
    if (tensor.defined() && !torch::isfinite(tensor).all().item<bool>()) return name;
  return "";
}

NamedTensors gradients_and_parameters(const NamedTensors& parameters) {
  NamedTensors tensors;
  for (const auto& [name, parameter] : parameters)
    tensors.emplace_back("the gradient of " + name, parameter.grad());
  for (const auto& entry : parameters) tensors.push_back(entry);
  return tensors;
}

}  // namespace facet
