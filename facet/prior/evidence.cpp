#include "facet/prior/evidence.h"

#include "facet/core/torch.h"

namespace facet {

torch::Tensor log_normalisers(const FactorPosterior& posterior) {
  return log_normaliser(posterior.components).sum(1);
}

double empty_log_normaliser(const FactorHyperprior& hyperprior, int64_t dimensions) {
  return log_normaliser(to_natural(hyperprior.components))
      .expand({dimensions})
      .sum()
      .item<double>();
}

double weights_evidence(const std::vector<double>& counts, const torch::Tensor& concentration) {
  const torch::Tensor all = torch::tensor(counts, kFloat64);
  if (!concentration.defined())
    return (torch::lgamma(all).sum() - torch::lgamma(all.sum())).item<double>();
  const torch::Tensor sorted = std::get<0>(all.sort(0, /*descending=*/true));
  const torch::Tensor images = sorted - 1.0;
  const int64_t sticks = sorted.size(0) - 1;
  const torch::Tensor first = sorted.narrow(0, 0, sticks);
  const torch::Tensor second =
      concentration.cpu() + (images.sum() - images.cumsum(0)).narrow(0, 0, sticks).clamp_min(0);
  return (torch::lgamma(first) + torch::lgamma(second) - torch::lgamma(first + second))
      .sum()
      .item<double>();
}

FactorPosterior copy_of(const FactorPosterior& posterior) {
  const NaturalNormalGamma& own = posterior.components;
  return {{own.log_alpha.clone(), own.alpha.clone(), own.alpha_mu.clone(), own.alpha_mu2.clone()},
          posterior.counts.clone(),
          posterior.concentration};
}

FactorPosterior empty_component(const FactorPosterior& like, const FactorHyperprior& hyperprior) {
  const int64_t dimensions = like.components.alpha.size(1);
  const auto row = [&](const torch::Tensor& value) {
    return value.expand({1, dimensions}).clone();
  };
  const auto& [m, s, a, b] = hyperprior.components;
  return FactorPosterior::from_mean({row(m), row(s), row(a), row(b)}, hyperprior.count.expand({1}));
}

void merge_rows(FactorPosterior& posterior, int64_t into, int64_t from,
                const FactorPosterior& empty) {
  const NamedTensors all = posterior.tensors(), base = empty.tensors();
  for (size_t t = 0; t < all.size(); ++t) {
    all[t].second[into] += all[t].second[from] - base[t].second[0];
    all[t].second[from].copy_(base[t].second[0]);
  }
}

}  // namespace facet
