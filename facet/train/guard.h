// The guard against numbers that are none: when a step goes wrong, it finds the first tensor on the
// way of the images that holds a NaN or an infinity, so that the message can name it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

namespace facet {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// The name of the first tensor with a number that is not finite; empty where all are.
std::string first_not_finite(const NamedTensors& tensors);

/// A module's gradients and then its parameters, by name.
NamedTensors gradients_and_parameters(const torch::nn::Module& module);

}  // namespace facet
