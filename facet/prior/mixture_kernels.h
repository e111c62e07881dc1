// The kernels behind factorial_mixture.h. Each function computes by the kernels of cuda/prior_ops.h
// where they run and read what it is given, and says whether it did; where it did not, the formulas
// of factorial_mixture.cpp compute.
#pragma once

#include <optional>
#include <vector>

#include "facet/prior/factorial_mixture.h"

namespace facet {

/// The terms of one factor, for a float64 block on a GPU that no gradient flows to.
std::optional<FactorTerms> kernel_factor_terms(const BlockEncoding& block,
                                               const FactorPosterior& posterior,
                                               const torch::Tensor& labels);

/// The terms of every factor, for float32 encodings on a GPU; undefined where kernels do not
/// compute them: at parameters of its own they compute none.
std::vector<FactorTerms> kernel_factor_terms(const FactorialMixture& prior,
                                             const torch::Tensor& mean,
                                             const torch::Tensor& log_variance,
                                             const std::vector<FactorParameters>& parameters,
                                             const torch::Tensor& labels);

/// The natural-gradient step of one factor, for a float64 block on a GPU.
bool kernel_natural_gradient_update(FactorPosterior& posterior, const BlockEncoding& block,
                                    const torch::Tensor& labels, const NaturalGradient& step,
                                    const FactorHyperprior& hyperprior);

/// The steps of every factor i with `updated[i]`, for float32 encodings on a GPU.
bool kernel_natural_gradient_update(FactorialMixture& prior, const torch::Tensor& mean,
                                    const torch::Tensor& log_variance, const torch::Tensor& labels,
                                    const NaturalGradient& step, const std::vector<bool>& updated);

/// The log predictive density of z [B, Z], for float32 z on a GPU that no gradient flows to.
std::optional<torch::Tensor> kernel_predictive_log_density(const FactorialMixture& prior,
                                                           const torch::Tensor& z);

}  // namespace facet
