#include "facet/model/atlas.h"

#include <algorithm>

#include "facet/core/torch.h"

namespace facet {

torch::Tensor typical_latents(const FactorialMixture& prior) {
  std::vector<torch::Tensor> blocks;
  for (const FactorPosterior& posterior : prior.posteriors)
    blocks.push_back(posterior.mean().m[posterior.counts.argmax().item<int64_t>()]);
  return torch::cat(blocks).unsqueeze(0);
}

torch::Tensor atlas_latents(const FactorialMixture& prior, size_t factor) {
  const FactorOptions& options = prior.factors[factor];
  const int64_t count = std::min(options.components, kMostAtlasComponents);
  const torch::Tensor z = typical_latents(prior).repeat({count, 1});
  z.narrow(1, prior.block_begin(factor), options.dimensions)
      .copy_(prior.posteriors[factor].mean().m.narrow(0, 0, count));
  return z;
}

}  // namespace facet
