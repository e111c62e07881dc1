// Mixtures that leave no doubt: components at given means, variances and weights. As s, a and c
// grow, eq:Elogp becomes the plain log density of a mixture of Gaussians, and eq:z-t-dist a
// Gaussian. So priors that have no posterior of their own (N(0, I), point estimates, VampPrior) go
// through the same bound, the same files and the same pictures as ours, and can stand beside it.
#pragma once

#include "facet/core/tensor.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

/// Of components with mean and variance [K, D] and weights [K], which sum to one; gradients flow to
/// all three. Exact to about 1e-5 nats: beyond that, double precision would be lost elsewhere.
FactorParameters point_mass_parameters(const torch::Tensor& mean, const torch::Tensor& variance,
                                       const torch::Tensor& weights);

/// The same as a state.
FactorPosterior point_mass_posterior(const torch::Tensor& mean, const torch::Tensor& variance,
                                     const torch::Tensor& weights);

/// The posterior without its doubt: components at m, b / a and E[pi].
FactorPosterior to_point_mass(const FactorPosterior& posterior);

}  // namespace facet
