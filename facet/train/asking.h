// Images that a model is asked for in training: latent vectors drawn from the prior, in which every
// named factor has a value chosen at random. What the encoder sees in such an image should be what
// was asked for (docs/mathematics.md, "What is asked for").
#pragma once

#include <torch/torch.h>

#include "facet/core/random.h"
#include "facet/model/vae.h"

namespace facet {

/// Draws that a recorded step can make anew. All values of a named factor are equally likely, a
/// free factor's components are drawn from E[pi]. A block is Gaussian with the scale of its
/// component's Student-t (eq:z-t-dist), which it comes close to where a component holds images.
LatentSample ask(const Key& key, const FactorialMixture& prior, int64_t count);

}  // namespace facet
