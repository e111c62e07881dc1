// The factorial mixture prior by the kernels of prior.h, as functions on tensors. The reference is
// prior/factorial_mixture.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// The posterior of one factor, and the labels of the images.
struct PriorFactorTensors {
  torch::Tensor log_alpha, alpha, alpha_mu, alpha_mu2;  ///< natural parameters, float64 [K, D]
  torch::Tensor counts;                                 ///< float64 [K]
  torch::Tensor labels;  ///< int64 [B], -1 where unknown; undefined where there are none
  torch::Tensor expected_log_weights;  ///< float64 [K]; undefined: Dirichlet, from the counts
  torch::Tensor m0, s0, a0, b0, c0;    ///< of the hyperprior, float64 [D] and one; for updates
};
struct PriorTermTensors {
  torch::Tensor responsibilities;                  ///< [B, K], float64 as all here
  torch::Tensor kl_z, kl_r, label_log_likelihood;  ///< [B]
};
/// The prior's terms of every factor, for float32 mean and log variance [B, Z]. Factor i's block
/// begins at column `begins[i]`; a column of no factor gets no gradient. Gradients flow from kl_z
/// and the label's log likelihood to mean and log variance.
std::vector<PriorTermTensors> prior_terms(const torch::Tensor& mean,
                                          const torch::Tensor& log_variance,
                                          const std::vector<PriorFactorTensors>& factors,
                                          const std::vector<int64_t>& begins);
/// The same of one factor for float64 mean and variance [B, D]; nothing is differentiable.
PriorTermTensors prior_terms(const torch::Tensor& mean, const torch::Tensor& variance,
                             const PriorFactorTensors& factor);

struct NaturalStepNumbers {
  double scale;       ///< N / |B|
  torch::Tensor rho;  ///< one float64 number on the GPU
};
/// E-step, conjugate posterior and natural-gradient step of every factor, in place, for float32
/// mean and log variance with blocks as above.
void natural_gradient_update(const torch::Tensor& mean, const torch::Tensor& log_variance,
                             const std::vector<PriorFactorTensors>& factors,
                             const std::vector<int64_t>& begins, const NaturalStepNumbers& step);
/// The same of one factor for float64 mean and variance [B, D].
void natural_gradient_update(const torch::Tensor& mean, const torch::Tensor& variance,
                             const PriorFactorTensors& factor, const NaturalStepNumbers& step);

}  // namespace facet::cuda
