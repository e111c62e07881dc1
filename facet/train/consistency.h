// The consistency loss: in conditional samples, whose named factors have random values, the encoder
// has to find those values (docs/mathematics.md, "Conditional samples").
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// The cross-entropy of the values that `count` samples were drawn with under the encoder's
/// assignment probabilities, summed over named factors, the mean over the samples. Gradients flow
/// to decoder and encoder; the mixtures are constant.
torch::Tensor consistency_loss(const Vae& model, const Key& key, int64_t count);

}  // namespace facet
