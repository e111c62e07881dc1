#include "facet/prior/point_mass.h"

#include "facet/core/torch.h"

namespace facet {

namespace {

/// The value of s, a and the sum of the pseudo-counts. As it grows, the error of eq:Elogp falls and
/// that of the log Gamma functions in eq:z-t-dist rises.
constexpr double concentration = 1e7;

}  // namespace

FactorParameters point_mass_parameters(const torch::Tensor& mean, const torch::Tensor& variance,
                                       const torch::Tensor& weights) {
  const torch::Tensor large = torch::full_like(mean, concentration, mean.options().dtype(kFloat64));
  return {{mean.to(kFloat64), large, large, concentration * variance.to(kFloat64)},
          concentration * weights.to(kFloat64)};
}

FactorPosterior point_mass_posterior(const torch::Tensor& mean, const torch::Tensor& variance,
                                     const torch::Tensor& weights) {
  const FactorParameters parameters = point_mass_parameters(mean, variance, weights);
  return FactorPosterior::from_mean(parameters.components, parameters.counts);
}

FactorPosterior to_point_mass(const FactorPosterior& posterior) {
  const NormalGamma mean = posterior.mean();
  return point_mass_posterior(mean.m, mean.b / mean.a, posterior.expected_weights());
}

}  // namespace facet
