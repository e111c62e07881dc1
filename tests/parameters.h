// Access to the parameters of a model's networks: one by name, or all converted to float64.
#pragma once

#include <stdexcept>
#include <string>

#include "facet/core/torch.h"
#include "facet/model/vae.h"

namespace facet {

/// The model's parameter of this name, such as "encoder.head.weight".
inline torch::Tensor parameter_of(const Vae& model, const std::string& name) {
  for (const auto& [known, tensor] : model.parameters())
    if (known == name) return tensor;
  throw std::logic_error("no parameter " + name);
}

/// Finite differences need more digits than float32 has.
inline void to_float64(Vae& model) {
  for (auto& [name, parameter] : model.parameters()) parameter.set_data(parameter.to(kFloat64));
}

}  // namespace facet
