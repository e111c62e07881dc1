// The check for numbers that are not finite: when a step goes wrong, it finds the first tensor in
// the order of computation that holds a NaN or an infinity, so that the message can name it.
#pragma once

#include <optional>
#include <string>

#include "facet/core/tensor.h"

namespace facet {

/// What a kind of step leaves to be looked at when something goes wrong.
struct DebugTensors {
  torch::Tensor loss;    ///< which `finite` is made of, on another stream
  torch::Tensor finite;  ///< a finite number where everything is
  NamedTensors tensors;  ///< in the order of computation
};

/// The name of the first tensor of a step that is not finite, then of a gradient or a parameter;
/// nothing where all are finite. Waits for a GPU.
std::optional<std::string> find_not_finite(const DebugTensors& debug,
                                           const NamedTensors& parameters);

/// The name of the first tensor with a number that is not finite; empty where all are.
std::string first_not_finite(const NamedTensors& tensors);

/// The gradients of parameters and then the parameters, by name.
NamedTensors gradients_and_parameters(const NamedTensors& parameters);

}  // namespace facet
