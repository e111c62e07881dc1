// Images that a model is asked for in training: latent vectors drawn from the prior, in which every
// named factor has a value chosen at random. What the encoder sees in such an image should be what
// was asked for (docs/mathematics.md, "What is asked for").
#pragma once

#include <torch/torch.h>

#include "facet/core/random.h"
#include "facet/model/vae.h"

namespace facet {

/// All values of a named factor are equally likely, a free factor's components are drawn from
/// E[pi]. A block is Gaussian with the scale of its component's Student-t (eq:z-t-dist), which it
/// comes close to where a component holds images. Unlike those of `sample_latents`, whose
/// generators are on the host, these draws can be recorded.
LatentSample ask(const Key& key, const FactorialMixture& prior, int64_t count);

/// The cross-entropy between the values asked for and those that the encoder sees in the images, a
/// mean over `count` of them, summed over named factors. Gradients flow to decoder and encoder; the
/// mixtures are constants.
torch::Tensor asked_loss(Vae& model, const Key& key, int64_t count);

}  // namespace facet
