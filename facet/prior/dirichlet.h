// The Dirichlet distribution of a factor's mixing weights pi, given by its pseudo-counts c [K].
#pragma once

#include "facet/core/tensor.h"

namespace facet {

/// E[log pi_k] = psi(c_k) - psi(sum c), [K].
torch::Tensor expected_log_weights(const torch::Tensor& counts);

/// E[pi_k] = c_k / sum c, [K].
torch::Tensor expected_weights(const torch::Tensor& counts);

/// KL(Dir(q) || Dir(p)) of two vectors of pseudo-counts [K], a scalar.
torch::Tensor dirichlet_kl(const torch::Tensor& q_counts, const torch::Tensor& p_counts);

}  // namespace facet
