#include "facet/prior/initialise.h"

#include "facet/core/torch.h"
#include "facet/prior/kmeans.h"

namespace facet {

namespace {

/// Components at `centres` [K, D] with `counts` images [K] and one shared variance [D].
FactorPosterior posterior_at(const torch::Tensor& centres, const torch::Tensor& counts,
                             const torch::Tensor& variance, const FactorHyperprior& hyperprior) {
  const torch::Tensor spread = counts.unsqueeze(1).expand_as(centres);  // [K, D]
  const torch::Tensor a = hyperprior.components.a + 0.5 * spread;
  FactorPosterior posterior = FactorPosterior::from_mean(
      {centres, hyperprior.components.s + spread, a, a * variance}, hyperprior.count + counts);
  posterior.concentration = hyperprior.concentration;
  return posterior;
}

/// The variance around centres, `within`, and the encoder's own, [D]. Points may all be equal.
torch::Tensor with_own_variance(const torch::Tensor& within, const BlockEncoding& block) {
  return block.variance.defined() ? within + block.variance.mean(0) : within.clamp_min(1e-9);
}

}  // namespace

FactorPosterior initial_posterior(const Key& key, const BlockEncoding& block, int64_t components,
                                  int64_t images, int64_t kmeans_iterations,
                                  const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  const KMeans clusters = k_means(key, block.mean, components, kmeans_iterations);
  const torch::Tensor within =
      (block.mean - clusters.centres.index_select(0, clusters.assignments)).square().mean(0);
  const double scale = static_cast<double>(images) / static_cast<double>(block.mean.size(0));
  return posterior_at(clusters.centres, scale * clusters.counts.to(kFloat64),
                      with_own_variance(within, block), hyperprior);
}

FactorPosterior labelled_posterior(const BlockEncoding& block, const torch::Tensor& labels,
                                   int64_t components, int64_t images,
                                   const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor known = labels.ge(0).nonzero().squeeze(1);
  const torch::Tensor classes = labels.index_select(0, known);
  const torch::Tensor means = block.mean.index_select(0, known);
  const torch::Tensor overall = block.mean.mean(0);
  const torch::Tensor counts = torch::bincount(classes, {}, components).to(kFloat64);  // [K]
  // One pseudo-image at the overall mean keeps a class without labels finite.
  const torch::Tensor centres =
      (overall + cluster_sums(means, classes, components)) / (counts + 1.0).unsqueeze(1);
  // The overall variance, not that within classes: the classes still overlap, and wide components
  // let the labels pull them apart.
  const torch::Tensor overall_variance = (block.mean - overall).square().mean(0);
  const double scale =
      static_cast<double>(images) / static_cast<double>(known.size(0) + components);
  return posterior_at(centres, scale * (counts + 1.0), with_own_variance(overall_variance, block),
                      hyperprior);
}

}  // namespace facet
