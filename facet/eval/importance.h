// The importance-weighted bound (Burda, Grosse and Salakhutdinov, 2016): the mean over draws
// z ~ q(z|x) of p(x|z) p(z) / q(z|x), in logarithms, with the predictive marginal of the prior
// (eq:z-t-dist) as p(z). It needs thousands of draws an image, so many are decoded at once.
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// Of every image with so many draws, float64 [N]. Pixels are bytes, [N, C, H, W].
torch::Tensor importance_bounds(Vae& model, const torch::Tensor& pixels, int64_t draws,
                                const Key& key);

}  // namespace facet
