// The factorial mixture prior in plain float64 code, by the formulas of facet/prior: what the
// kernels of one factor must give.
#pragma once

#include <cstdint>
#include <vector>

namespace facet::lab {

/// Natural parameters, [K, D], and pseudo-counts, [K].
struct Posterior {
  std::vector<double> log_alpha, alpha, alpha_mu, alpha_mu2, counts;
};

/// Hyperparameters of the prior over a factor's components, [D], and of its weights.
struct Hyperprior {
  std::vector<double> m0, s0, a0, b0;
  double c0;
};

/// One factor and its block of the encodings of B images, [B, D].
struct FactorData {
  int64_t B, K, D;
  std::vector<double> mean, variance, log_variance;
  std::vector<int64_t> labels;  ///< [B], -1 where unknown
  Posterior posterior;
  Hyperprior hyperprior;
};

struct ExpectedTerms {
  std::vector<double> gamma;                                         ///< [B, K]
  std::vector<double> kl_z, kl_r, label;                             ///< [B]
  std::vector<double> kl_mean, kl_spread, label_mean, label_spread;  ///< derivatives, [B, D]
};

ExpectedTerms expected_terms(const FactorData& factor);

/// After the natural-gradient step with these responsibilities.
Posterior expected_update(const FactorData& factor, const std::vector<double>& gamma, double scale,
                          double rho);

}  // namespace facet::lab
