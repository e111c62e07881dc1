#include "facet/train/guard.h"

namespace facet {

std::string first_not_finite(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors)
    if (tensor.defined() && !torch::isfinite(tensor).all().item<bool>()) return name;
  return "";
}

NamedTensors gradients_and_parameters(const torch::nn::Module& module) {
  NamedTensors tensors;
  for (const auto& parameter : module.named_parameters())
    tensors.emplace_back("the gradient of " + parameter.key(), parameter.value().grad());
  for (const auto& parameter : module.named_parameters())
    tensors.emplace_back(parameter.key(), parameter.value());
  return tensors;
}

}  // namespace facet
