#include "facet/train/asking.h"

#include <vector>

#include "facet/prior/dirichlet.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

/// Components drawn with the given probabilities [K], int64 [count].
torch::Tensor draw_components(const Key& key, const torch::Tensor& probabilities, int64_t count) {
  const torch::Tensor chosen = uniform(key, {count, 1}, probabilities.options());
  return chosen.gt(probabilities.cumsum(0)).sum(1).clamp_max(probabilities.size(0) - 1);
}

}  // namespace

LatentSample ask(const Key& key, const FactorialMixture& prior, int64_t count) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> blocks, components;
  for (size_t i = 0; i < prior.size(); ++i) {
    const FactorPosterior& posterior = prior.posteriors[i];
    const Key factor_key = key.fold(i);
    const torch::Tensor evenly =
        torch::full_like(posterior.counts, 1.0 / static_cast<double>(posterior.counts.size(0)));
    components.push_back(draw_components(
        factor_key.fold("component"),
        prior.factors[i].named() ? evenly : expected_weights(posterior.counts), count));
    const NormalGamma all = posterior.mean();
    const torch::Tensor centre = all.m.index_select(0, components.back());
    const torch::Tensor scale = squared_scale(all).sqrt().index_select(0, components.back());
    blocks.push_back(centre + scale * standard_normal(factor_key.fold("block"), centre.sizes(),
                                                      centre.options()));
  }
  return {torch::cat(blocks, 1), torch::stack(components, 1)};
}

}  // namespace facet
