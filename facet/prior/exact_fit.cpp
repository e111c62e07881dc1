#include "facet/prior/exact_fit.h"

#include "facet/core/torch.h"

namespace facet {

FactorData FactorData::slice(int64_t begin, int64_t count) const {
  return {{block.mean.narrow(0, begin, count), block.variance.narrow(0, begin, count)},
          labels.defined() ? labels.narrow(0, begin, count) : labels,
          scale};
}

void exact_update(FactorPosterior& posterior, const FactorData& data,
                  const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor like = posterior.components.alpha;
  FactorStatistics sums{torch::zeros_like(posterior.counts), torch::zeros_like(like),
                        torch::zeros_like(like)};
  for_slices(data, posterior.counts.size(0), [&](const FactorData& part) {
    const FactorStatistics own = statistics(part.block, e_step(part.block, posterior, part.labels));
    sums.counts += own.counts;
    sums.first += own.first;
    sums.second += own.second;
  });
  posterior.assign(conjugate_posterior(sums, data.scale, hyperprior));
}

double factor_bound(const FactorPosterior& posterior, const FactorData& data,
                    const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  double sum = 0;
  for_slices(data, posterior.counts.size(0), [&](const FactorData& part) {
    const FactorTerms terms = factor_terms(part.block, posterior, part.labels);
    sum -= (terms.kl_z + terms.kl_r).sum().item<double>();
  });
  const HyperpriorKl kl = hyperprior_kl(posterior.parameters(), hyperprior);
  return data.scale * sum - (kl.components.sum() + kl.weights).item<double>();
}

}  // namespace facet
