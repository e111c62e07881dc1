// Point-mass posteriors: components with given means, variances and weights and no uncertainty. As
// s, a and c grow, eq:Elogp becomes the log density of a plain mixture of Gaussians, and
// eq:z-t-dist becomes a Gaussian. Priors without a posterior (N(0, I), point estimates, VampPrior)
// thus use the same bound, files and pictures as the Bayesian mixture.
#pragma once

#include "facet/core/tensor.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

/// The point mass at mean and variance [K, D] and weights [K] that sum to one; gradients flow to
/// all three. Terms of the bound are exact to about 1e-5 nats; a larger precision would lose digits
/// of float64 elsewhere.
FactorParameters point_mass_parameters(const torch::Tensor& mean, const torch::Tensor& variance,
                                       const torch::Tensor& weights);

/// The same as a posterior in natural parameters.
FactorPosterior point_mass_posterior(const torch::Tensor& mean, const torch::Tensor& variance,
                                     const torch::Tensor& weights);

/// The point mass at the posterior's means m, variances b / a and weights E[pi].
FactorPosterior to_point_mass(const FactorPosterior& posterior);

}  // namespace facet
