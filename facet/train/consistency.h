// The consistency loss: conditional samples, in which every named factor has a value chosen at
// random, go through the encoder, which has to see the values that the samples were drawn with
// (docs/mathematics.md, "Conditional samples").
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// The cross-entropy between the values that `count` samples were drawn with and those that the
/// encoder sees in them, summed over named factors, a mean over the samples. Gradients flow to
/// decoder and encoder; the mixtures are constants.
torch::Tensor consistency_loss(const Vae& model, const Key& key, int64_t count);

}  // namespace facet
