#include "facet/prior/certain.h"

#include "facet/prior/dirichlet.h"

namespace facet {

namespace {

/// s, a and the sum of the pseudo-counts. The error of eq:Elogp falls with it, that of the log
/// Gamma functions in eq:z-t-dist grows.
constexpr double certainty = 1e7;

}  // namespace

FactorParameters certain_parameters(const torch::Tensor& mean, const torch::Tensor& variance,
                                    const torch::Tensor& weights) {
  const torch::Tensor known =
      torch::full_like(mean, certainty, mean.options().dtype(torch::kFloat64));
  return {{mean.to(torch::kFloat64), known, known, certainty * variance.to(torch::kFloat64)},
          certainty * weights.to(torch::kFloat64)};
}

FactorPosterior certain_posterior(const torch::Tensor& mean, const torch::Tensor& variance,
                                  const torch::Tensor& weights) {
  const FactorParameters parameters = certain_parameters(mean, variance, weights);
  return FactorPosterior::from_mean(parameters.components, parameters.counts);
}

FactorPosterior without_doubt(const FactorPosterior& posterior) {
  const NormalGamma mean = posterior.mean();
  return certain_posterior(mean.m, mean.b / mean.a, expected_weights(posterior.counts));
}

}  // namespace facet
