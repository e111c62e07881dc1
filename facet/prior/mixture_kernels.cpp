#include "facet/prior/mixture_kernels.h"

#include "facet/core/torch.h"
#include "facet/cuda/predictive_ops.h"
#include "facet/cuda/prior_ops.h"
#include "facet/ops/dispatch.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

cuda::PriorFactorTensors kernel_input(const FactorPosterior& posterior,
                                      const torch::Tensor& labels) {
  const NaturalNormalGamma& natural = posterior.components;
  cuda::PriorFactorTensors tensors = {natural.log_alpha, natural.alpha,    natural.alpha_mu,
                                      natural.alpha_mu2, posterior.counts, labels};
  if (posterior.concentration.defined())
    tensors.expected_log_weights = posterior.expected_log_weights();
  return tensors;
}

/// The same with the hyperprior, for updates.
cuda::PriorFactorTensors kernel_input(const FactorPosterior& posterior, const torch::Tensor& labels,
                                      const FactorHyperprior& hyperprior) {
  cuda::PriorFactorTensors tensors = kernel_input(posterior, labels);
  const auto& [m0, s0, a0, b0] = hyperprior.components;
  std::tie(tensors.m0, tensors.s0, tensors.a0, tensors.b0) = std::tie(m0, s0, a0, b0);
  tensors.c0 = hyperprior.count;
  return tensors;
}

FactorTerms from_kernel(const cuda::PriorTermTensors& terms) {
  return {terms.responsibilities, terms.kl_z, terms.kl_r, terms.label_log_likelihood};
}

bool needs_gradient(const BlockEncoding& block) {
  return at::GradMode::is_enabled() &&
         (block.mean.requires_grad() || block.variance.requires_grad());
}

/// The factors that kernels are given together, and where their blocks of [B, Z] begin.
struct KernelFactors {
  std::vector<size_t> indices;
  std::vector<cuda::PriorFactorTensors> tensors;
  std::vector<int64_t> begins;

  KernelFactors(const FactorialMixture& prior, const torch::Tensor& labels,
                const std::vector<bool>& chosen) {
    for (size_t i = 0; i < prior.size(); ++i) {
      if (!chosen[i]) continue;
      indices.push_back(i);
      tensors.push_back(
          kernel_input(prior.posteriors[i], labels_of_factor(labels, i), prior.hyperpriors[i]));
      begins.push_back(prior.block_begin(i));
    }
  }
};

}  // namespace

std::optional<FactorTerms> kernel_factor_terms(const BlockEncoding& block,
                                               const FactorPosterior& posterior,
                                               const torch::Tensor& labels) {
  if (!block.variance.defined() || !ops::kernel_computes(block.mean, kFloat64) ||
      needs_gradient(block))
    return std::nullopt;
  return from_kernel(
      cuda::prior_terms(block.mean, block.variance, kernel_input(posterior, labels)));
}

std::vector<FactorTerms> kernel_factor_terms(const FactorialMixture& prior,
                                             const torch::Tensor& mean,
                                             const torch::Tensor& log_variance,
                                             const std::vector<FactorParameters>& parameters,
                                             const torch::Tensor& labels) {
  std::vector<FactorTerms> terms(prior.size());
  if (!ops::kernel_computes(mean, kFloat32)) return terms;
  std::vector<bool> at_posterior;
  for (const FactorParameters& own : parameters) at_posterior.push_back(!own.defined());
  const KernelFactors factors(prior, labels, at_posterior);
  if (factors.indices.empty()) return terms;
  const auto computed = cuda::prior_terms(mean, log_variance, factors.tensors, factors.begins);
  for (size_t j = 0; j < computed.size(); ++j) terms[factors.indices[j]] = from_kernel(computed[j]);
  return terms;
}

bool kernel_natural_gradient_update(FactorPosterior& posterior, const BlockEncoding& block,
                                    const torch::Tensor& labels, const NaturalGradient& step,
                                    const FactorHyperprior& hyperprior) {
  if (!block.variance.defined() || !ops::kernel_computes(block.mean, kFloat64)) return false;
  cuda::natural_gradient_update(block.mean, block.variance,
                                kernel_input(posterior, labels, hyperprior),
                                {step.scale, step.rho});
  return true;
}

bool kernel_natural_gradient_update(FactorialMixture& prior, const torch::Tensor& mean,
                                    const torch::Tensor& log_variance, const torch::Tensor& labels,
                                    const NaturalGradient& step, const std::vector<bool>& updated) {
  if (!ops::kernel_computes(mean, kFloat32)) return false;
  const KernelFactors factors(prior, labels, updated);
  cuda::natural_gradient_update(mean, log_variance, factors.tensors, factors.begins,
                                {step.scale, step.rho});
  return true;
}

std::optional<torch::Tensor> kernel_predictive_log_density(const FactorialMixture& prior,
                                                           const torch::Tensor& z) {
  if (!ops::kernel_computes(z, kFloat32) || (at::GradMode::is_enabled() && z.requires_grad()))
    return std::nullopt;
  std::vector<cuda::PredictiveTensors> factors;
  std::vector<int64_t> begins;
  for (size_t i = 0; i < prior.size(); ++i) {
    const StudentT components(prior.posteriors[i].mean());
    factors.push_back({components.constant + torch::log(prior.posteriors[i].expected_weights()),
                       components.centre, components.spread, components.power});
    begins.push_back(prior.block_begin(i));
  }
  return cuda::predictive_log_density(z.contiguous(), factors, begins);
}

}  // namespace facet
