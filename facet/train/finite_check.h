// The check for NaN and infinity: it finds the first tensor of a step, in the order of computation,
// that is not finite, so that the error message can name it.
#pragma once

#include <optional>
#include <string>

#include "facet/core/tensor.h"

namespace facet {

/// Tensors that a kind of step keeps for this check.
struct DebugTensors {
  torch::Tensor loss;    ///< kept alive, because `finite` is computed from it on another stream
  torch::Tensor finite;  ///< a scalar that is finite if loss and gradient are
  NamedTensors tensors;  ///< in the order of computation
};

/// The name of the first tensor of a step that is not finite, or else of the first such gradient or
/// parameter; nothing if all are finite. Waits for the GPU.
std::optional<std::string> find_not_finite(const DebugTensors& debug,
                                           const NamedTensors& parameters);

/// The name of the first tensor with a NaN or an infinity; empty if there is none.
std::string first_not_finite(const NamedTensors& tensors);

/// The gradients of the parameters, then the parameters, with names.
NamedTensors gradients_and_parameters(const NamedTensors& parameters);

}  // namespace facet
