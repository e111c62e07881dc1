// The consistency loss: in conditional samples, whose named factors have random values, the encoder
// has to find those values (docs/mathematics.md, "Conditional samples").
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/model/vae.h"
#include "facet/prior/sampling.h"

namespace facet {

/// The values and latent vectors of `count` conditional samples.
LatentSample consistency_sample(const Vae& model, const Key& key, int64_t count);

/// The cross-entropy of `values` [B, I] under the assignment probabilities of encodings, summed
/// over named factors, the mean over the images, if values are equally frequent, and so have equal
/// pseudo-counts. Gradients flow to the encodings alone.
torch::Tensor even_value_loss(const FactorialMixture& prior, const Encoding& encoding,
                              const torch::Tensor& values);

/// The cross-entropy of the values that samples were drawn with under the encoder's assignment
/// probabilities, summed over named factors, the mean over the samples; `output` is the decoder's.
/// Gradients flow to decoder and encoder; the mixtures are constant.
torch::Tensor consistency_loss(const Vae& model, const Key& key, const LatentSample& drawn,
                               const torch::Tensor& output);
/// The same of `count` samples.
torch::Tensor consistency_loss(const Vae& model, const Key& key, int64_t count);

}  // namespace facet
