#include "facet/train/finite_check.h"

#include <cmath>

#include "facet/core/torch.h"

namespace facet {

bool is_finite(const DebugTensors& debug) {
  return !debug.finite.defined() || std::isfinite(debug.finite.item<double>());
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
