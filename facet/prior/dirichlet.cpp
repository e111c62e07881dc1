#include "facet/prior/dirichlet.h"

#include "facet/core/torch.h"

namespace facet {

torch::Tensor expected_log_weights(const torch::Tensor& counts) {
  return torch::digamma(counts) - torch::digamma(counts.sum());
}

torch::Tensor expected_weights(const torch::Tensor& counts) { return counts / counts.sum(); }

torch::Tensor dirichlet_kl(const torch::Tensor& q_counts, const torch::Tensor& p_counts) {
  return torch::lgamma(q_counts.sum()) - torch::lgamma(p_counts.sum()) -
         (torch::lgamma(q_counts) - torch::lgamma(p_counts)).sum() +
         ((q_counts - p_counts) * expected_log_weights(q_counts)).sum();
}

}  // namespace facet
