// The importance-weighted bound (Burda, Grosse and Salakhutdinov, 2016): the log of the mean of
// p(x|z) p(z) / q(z|x) over draws z ~ q(z|x), where p(z) is the predictive marginal of the prior
// (eq:z-t-dist). It needs thousands of draws per image, so draws are decoded in large batches.
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// The bound of every image, float64 [N], with `draws` draws per image. Pixels are U8 [N, C, H, W].
torch::Tensor importance_bounds(Vae& model, const ImageRows& pixels, int64_t draws, const Key& key);

}  // namespace facet
