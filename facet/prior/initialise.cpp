#include "facet/prior/initialise.h"

#include "facet/prior/kmeans.h"

namespace facet {

FactorPosterior initial_posterior(const Key& key, const BlockEncoding& block, int64_t components,
                                  int64_t images, int64_t kmeans_iterations,
                                  const Hyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  const KMeans clusters = k_means(key, block.mean, components, kmeans_iterations);
  const torch::Tensor within =
      (block.mean - clusters.centres.index_select(0, clusters.assignments)).square().mean(0);
  const torch::Tensor variance = within + block.variance.mean(0);  // [D], shared by the components

  const double scale = static_cast<double>(images) / static_cast<double>(block.mean.size(0));
  const torch::Tensor counts = scale * clusters.counts.to(torch::kFloat64);      // [K]
  const torch::Tensor spread = counts.unsqueeze(1).expand_as(clusters.centres);  // [K, D]
  const torch::Tensor a = hyperprior.a0 + 0.5 * spread;
  return FactorPosterior::from_mean({clusters.centres, hyperprior.s0 + spread, a, a * variance},
                                    hyperprior.c0 + counts);
}

}  // namespace facet
