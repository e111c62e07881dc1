// The check for NaN and infinity: it finds the first tensor of a step, in the order of computation,
// that is not finite, so that the error message can name it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "facet/core/tensor.h"

namespace facet {

/// Tensors that a kind of step keeps for this check.
struct DebugTensors {
  torch::Tensor loss;    ///< kept alive, because `finite` is computed from it on another stream
  torch::Tensor finite;  ///< a scalar that is finite if loss and gradient are
  NamedTensors tensors;  ///< in the order of computation
};

/// Those of the last step of every kind, whose tensors a captured step keeps in their places.
class StepDebug {
 public:
  DebugTensors& begin_step(int64_t kind) { return kinds_[last_ = kind]; }
  /// Of the last step; null before the first.
  const DebugTensors* last() const {
    const auto found = kinds_.find(last_);
    return found == kinds_.end() ? nullptr : &found->second;
  }

 private:
  std::map<int64_t, DebugTensors> kinds_;
  int64_t last_ = -1;
};

/// Whether the loss and the gradient of a step are finite. Waits for the GPU.
bool is_finite(const DebugTensors& debug);

/// The name of the first tensor with a NaN or an infinity; empty if there is none.
std::string first_not_finite(const NamedTensors& tensors);

/// The gradients of the parameters, then the parameters, with names.
NamedTensors gradients_and_parameters(const NamedTensors& parameters);

}  // namespace facet
