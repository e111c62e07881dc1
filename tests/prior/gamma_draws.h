// Draws of Gammas, against which formulas of the prior are tested.
#pragma once

#include "facet/core/random.h"
#include "facet/core/torch.h"

namespace facet {

constexpr int64_t kDraws = 200'000;

/// With a rate of one; shapes [n] give [kDraws, n].
inline torch::Tensor gamma_draws(const Key& key, const torch::Tensor& shapes) {
  return at::_standard_gamma(shapes.expand({kDraws, shapes.size(0)}).clone(), key.generator());
}

}  // namespace facet
