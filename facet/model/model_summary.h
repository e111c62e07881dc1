// What a model is, in words and numbers: its images, its factors and their components. The
// explorer's API and exported models tell it in the same form.
#pragma once

#include "facet/core/options.h"
#include "facet/model/vae.h"

namespace facet {

/// "shape", "latents", "network_parameters", "likelihood", "placed" (whether the components are
/// initialised) and "factors": name, first dimension, dimensions, and the components with their
/// names, weights and expected numbers of training images.
Json model_summary(const Vae& model);

}  // namespace facet
