// The Normal-Gamma distribution of a component's mean mu and precision alpha in one dimension,
//   N(mu; m, (s alpha)^-1) Gamma(alpha; a, b),
// as an exponential family (eq:natural): its mean and natural parameters, the moments of its
// sufficient statistics, its log-normaliser and its KL divergence. Every function is elementwise on
// tensors of one shape, [K, D] in the prior. Everything is float64: b is a difference of numbers
// that grow with the data set.
#pragma once

#include "facet/core/tensor.h"

namespace facet {

/// Mean parameters; s, a, b > 0.
struct NormalGamma {
  torch::Tensor m, s, a, b;
};

/// Natural parameters, each named by the sufficient statistic that it multiplies.
struct NaturalNormalGamma {
  torch::Tensor log_alpha;  ///< lambda_1 = a - 1/2
  torch::Tensor alpha;      ///< lambda_2 = -(b + s m^2 / 2)
  torch::Tensor alpha_mu;   ///< lambda_3 = s m
  torch::Tensor alpha_mu2;  ///< lambda_4 = -s / 2
};

/// E[log alpha], E[alpha], E[alpha mu], E[alpha mu^2].
struct NormalGammaMoments {
  torch::Tensor log_alpha, alpha, alpha_mu, alpha_mu2;
};

NaturalNormalGamma to_natural(const NormalGamma& mean);
NormalGamma to_mean(const NaturalNormalGamma& natural);

NormalGammaMoments moments(const NormalGamma& q);

/// A(lambda) with log q = lambda . t - A(lambda); its gradient is the moments.
torch::Tensor log_normaliser(const NaturalNormalGamma& natural);

/// KL(q || p), elementwise. The paper misprints log Gamma(a) as digamma(a).
torch::Tensor kl_divergence(const NormalGamma& q, const NormalGamma& p);

}  // namespace facet
