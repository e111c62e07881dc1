// The factorial mixture prior: the latent vector z is split into blocks, one per factor, and every
// block has its own Bayesian mixture of Gaussians (eq:prior, eq:joint). This file has the posterior
// q_lambda of one factor's parameters, the closed-form E-step (eq:resp, eq:Elogp), the KL terms of
// the bound (eq:elbo:b to eq:elbo:e), the natural-gradient step (eq:natural-gradients,
// eq:lambda-update) and the predictive. Everything is float64 and uses matrix products: no tensor
// has the size [B, K, D].
#pragma once

#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/prior/factor_options.h"
#include "facet/prior/hyperprior.h"
#include "facet/prior/normal_gamma.h"

namespace facet {

/// q(xi) of one factor in mean parameters: Normal-Gammas [K, D] and pseudo-counts c [K] of the
/// weights (prior/weights.h). The bound is computed from these, and is differentiable in them.
struct FactorParameters {
  NormalGamma components;
  torch::Tensor counts;
  torch::Tensor concentration = {};  ///< of stick-breaking weights; undefined: Dirichlet

  bool defined() const { return counts.defined(); }
};

/// The same as the state of training: Normal-Gammas in natural parameters, [K, D] each, and
/// pseudo-counts [K].
struct FactorPosterior {
  NaturalNormalGamma components;
  torch::Tensor counts;
  torch::Tensor concentration = {};  ///< the hyperprior's own tensor; undefined: Dirichlet

  static FactorPosterior from_mean(const NormalGamma& mean, const torch::Tensor& counts);
  NormalGamma mean() const { return to_mean(components); }
  FactorParameters parameters() const { return {mean(), counts, concentration}; }
  FactorPosterior to(torch::Device device) const;
  /// Copies the values of another posterior of the same size into the existing tensors.
  void assign(const FactorPosterior& other);
  /// "log_alpha", "alpha", "alpha_mu", "alpha_mu2" and "counts".
  NamedTensors tensors() const;
  torch::Tensor expected_log_weights() const;  ///< E[log pi], [K]
  torch::Tensor expected_weights() const;      ///< E[pi], [K]
};

/// The encoding of one block: q(z_i | x) = N(mean, diag variance), [B, D] each. Vectors that are
/// given as they are have no variance: it is undefined, and they are points.
struct BlockEncoding {
  torch::Tensor mean, variance = {};

  /// E[z^2], [B, D].
  torch::Tensor second_moment() const;
};

/// E_q[log N(z_i; mu_k, alpha_k^-1)] for every image and component, [B, K] (eq:Elogp).
torch::Tensor expected_log_normal(const BlockEncoding& block, const NormalGamma& components);

/// The maximiser of the bound over q(r), [B, K] (eq:resp): the softmax of eq:Elogp + E[log pi]. It
/// is the paper's g, which does not depend on labels.
torch::Tensor assignment_probabilities(const torch::Tensor& expected_log_normal,
                                       const torch::Tensor& expected_log_weights);

/// The assignment probabilities with one-hot rows for labelled images. `labels` are int64 [B], -1
/// where unknown.
torch::Tensor clamp_labels(const torch::Tensor& assignment_probabilities,
                           const torch::Tensor& labels);

/// E[KL(q(z_i|x) || p(z_i|mu_k, alpha_k))] averaged over the responsibilities, [B] (eq:elbo:b). Of
/// points, minus the expected log density: the entropy of q(z) is left out.
torch::Tensor kl_z(const BlockEncoding& block, const torch::Tensor& expected_log_normal,
                   const torch::Tensor& responsibilities);

/// E[KL(q(r_i) || p(r_i|pi))], [B] (eq:elbo:c).
torch::Tensor kl_r(const torch::Tensor& responsibilities,
                   const torch::Tensor& expected_log_weights);

/// The KL from the hyperprior: of the Normal-Gammas, summed over d, [K] (eq:elbo:d), and of the
/// weights, a scalar (eq:elbo:e).
struct HyperpriorKl {
  torch::Tensor components, weights;
};
HyperpriorKl hyperprior_kl(const FactorParameters& parameters, const FactorHyperprior& hyperprior);

/// One factor's part of the bound for a batch; gradients flow to the block's mean and variance.
struct FactorTerms {
  /// [B, K], detached: at the optimum the total derivative is the same (envelope theorem).
  torch::Tensor responsibilities;
  torch::Tensor kl_z;                  ///< [B]
  torch::Tensor kl_r;                  ///< [B]
  torch::Tensor label_log_likelihood;  ///< log g of the label, 0 if unknown, [B] (eq:semi-sup)
};
FactorTerms factor_terms(const BlockEncoding& block, const FactorParameters& parameters,
                         const torch::Tensor& labels);
/// The same at a posterior, without gradients to it.
FactorTerms factor_terms(const BlockEncoding& block, const FactorPosterior& posterior,
                         const torch::Tensor& labels);

/// The E-step alone, without gradients: responsibilities with labels clamped, [B, K].
torch::Tensor e_step(const BlockEncoding& block, const FactorPosterior& posterior,
                     const torch::Tensor& labels);

/// The sufficient statistics of a batch.
struct FactorStatistics {
  torch::Tensor counts;  ///< sum of gamma, [K]
  torch::Tensor first;   ///< sum of gamma mean, [K, D]
  torch::Tensor second;  ///< sum of gamma (mean^2 + variance), [K, D]
};
FactorStatistics statistics(const BlockEncoding& block, const torch::Tensor& responsibilities);

/// lambda* of eq:natural-gradients: the exact posterior given statistics, scaled by N / |B|.
FactorPosterior conjugate_posterior(const FactorStatistics& statistics, double scale,
                                    const FactorHyperprior& hyperprior);

/// eq:lambda-update in place: lambda <- (1 - rho) lambda + rho lambda*, where rho is a float64
/// scalar on the posterior's device.
void natural_step(FactorPosterior& posterior, const FactorPosterior& optimum,
                  const torch::Tensor& rho);

/// The numbers of a natural-gradient step.
struct NaturalGradient {
  double scale = 1.0;  ///< N / |B|
  torch::Tensor rho;   ///< a float64 scalar on the posterior's device
};
/// A complete natural-gradient step on a batch, in place: E-step, statistics, lambda*, and the step
/// towards it.
void natural_gradient_update(FactorPosterior& posterior, const BlockEncoding& block,
                             const torch::Tensor& labels, const NaturalGradient& step,
                             const FactorHyperprior& hyperprior);

/// log sum_k E[pi_k] StudentT(z_i; k), the predictive marginal of one block, [B].
torch::Tensor predictive_log_density(const torch::Tensor& z, const FactorPosterior& posterior);

/// All factors of a model. The blocks of z are in the order of the factors.
struct FactorialMixture {
  std::vector<FactorOptions> factors;
  std::vector<FactorHyperprior> hyperpriors;  ///< one per factor
  std::vector<FactorPosterior> posteriors;    ///< one per factor

  /// Every hyperprior at the given numbers, every posterior at its hyperprior. Free factors have
  /// stick-breaking weights where `stick_breaking`, named ones never: their values have no order.
  /// Throws an Error if names repeat or sizes are not positive.
  FactorialMixture(std::vector<FactorOptions> factors, const Hyperprior& hyperprior,
                   torch::Device device = torch::kCPU, bool stick_breaking = false);

  size_t size() const { return factors.size(); }
  int64_t dimensions() const;  ///< Z
  /// The first dimension of a factor's block of z.
  int64_t block_begin(size_t factor) const;
  /// The expected number of training images per component of a factor, float64 [K] on the CPU; a
  /// component with more than one is alive.
  torch::Tensor held_images(size_t factor) const;
  /// The index of the factor called `name`. Throws an Error with suggestions if there is none.
  size_t index_of(const std::string& name) const;
  /// Splits [B, Z] tensors into float64 blocks, one per factor.
  std::vector<BlockEncoding> split(const torch::Tensor& mean, const torch::Tensor& variance) const;
  std::vector<torch::Tensor> split(const torch::Tensor& z) const;
  void to(torch::Device device);
};

/// The log predictive density of z [B, Z] of any floating-point type: of every block, summed, [B].
torch::Tensor predictive_log_density(const FactorialMixture& prior, const torch::Tensor& z);

/// The column of a factor's labels, [B]; undefined if `labels` is.
torch::Tensor labels_of_factor(const torch::Tensor& labels, size_t factor);

/// The terms of every factor for encodings with mean and log variance [B, Z]. If `parameters[i]` is
/// defined, it is used instead of factor i's posterior, and gradients flow to it. `labels` is int64
/// [B, I] or undefined.
std::vector<FactorTerms> factor_terms(const FactorialMixture& prior, const torch::Tensor& mean,
                                      const torch::Tensor& log_variance,
                                      const std::vector<FactorParameters>& parameters,
                                      const torch::Tensor& labels);

/// A natural-gradient step of every factor i with `updated[i]`, on encodings and labels as above.
void natural_gradient_update(FactorialMixture& prior, const torch::Tensor& mean,
                             const torch::Tensor& log_variance, const torch::Tensor& labels,
                             const NaturalGradient& step, const std::vector<bool>& updated);

}  // namespace facet
