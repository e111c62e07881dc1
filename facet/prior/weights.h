// The posterior of a factor's mixing weights pi. It is given by pseudo-counts c [K], and it is
// either a Dirichlet, Dir(c), or that of a stick-breaking prior (a Dirichlet process cut off at K):
//   pi_k = v_k prod_{j<k} (1 - v_j),  v_k ~ Beta(c_k, alpha + sum_{j>k} (c_j - 1)),  v_K = 1,
// where c_k - 1 images are in component k. `concentration` is alpha, a float64 scalar; where it is
// undefined the weights are Dirichlet. Both are conjugate: the pseudo-counts move by natural
// gradients in the same way.
#pragma once

#include "facet/core/tensor.h"

namespace facet {

/// E[log pi_k], [K]; of a Dirichlet psi(c_k) - psi(sum c).
torch::Tensor expected_log_weights(const torch::Tensor& counts, const torch::Tensor& concentration);

/// E[pi_k], [K]; of a Dirichlet c_k / sum c.
torch::Tensor expected_weights(const torch::Tensor& counts, const torch::Tensor& concentration);

/// The KL divergence from the prior to the posterior, a scalar. The prior has the pseudo-count c0,
/// a scalar, in every component, and the same concentration.
torch::Tensor weights_kl(const torch::Tensor& counts, const torch::Tensor& concentration,
                         const torch::Tensor& c0);

/// The pseudo-count c0 of a symmetric Dirichlet prior, or the concentration of a stick-breaking
/// prior, that maximises the bound: that has the smallest weights_kl. A scalar, between the given
/// bounds.
torch::Tensor best_pseudo_count(const torch::Tensor& counts, double lowest, double highest);
torch::Tensor best_concentration(const torch::Tensor& counts, const torch::Tensor& concentration,
                                 double lowest, double highest);

}  // namespace facet
