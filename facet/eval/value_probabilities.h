// The probabilities of the values of named factors, q(r|x) without the components that have no
// name. Where data are mirrored in training, a picture and its mirror image have the same values:
// the mean over both errs less.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// The logarithms of the probabilities for images x, [B, C, H, W], with encoding `encoding`: on
/// the CPU, one [B, V] per named factor. With `mirror`, those of both views.
std::vector<torch::Tensor> value_log_probabilities(Vae& model, const torch::Tensor& x,
                                                   const Encoding& encoding, bool mirror);

}  // namespace facet
