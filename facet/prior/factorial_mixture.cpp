#include "facet/prior/factorial_mixture.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/prior/mixture_kernels.h"
#include "facet/prior/student_t.h"
#include "facet/prior/weights.h"

namespace facet {

FactorPosterior FactorPosterior::from_mean(const NormalGamma& mean, const torch::Tensor& counts) {
  return {to_natural(mean), counts.clone()};
}

FactorPosterior FactorPosterior::to(torch::Device device) const {
  return {{components.log_alpha.to(device), components.alpha.to(device),
           components.alpha_mu.to(device), components.alpha_mu2.to(device)},
          counts.to(device),
          concentration.defined() ? concentration.to(device) : concentration};
}

void FactorPosterior::assign(const FactorPosterior& other) {
  const NamedTensors to = tensors(), from = other.tensors();
  for (size_t i = 0; i < to.size(); ++i) to[i].second.copy_(from[i].second);
}

NamedTensors FactorPosterior::tensors() const {
  return {{"log_alpha", components.log_alpha},
          {"alpha", components.alpha},
          {"alpha_mu", components.alpha_mu},
          {"alpha_mu2", components.alpha_mu2},
          {"counts", counts}};
}

torch::Tensor FactorPosterior::expected_log_weights() const {
  return facet::expected_log_weights(counts, concentration);
}

torch::Tensor FactorPosterior::expected_weights() const {
  return facet::expected_weights(counts, concentration);
}

torch::Tensor BlockEncoding::second_moment() const {
  return variance.defined() ? mean.square() + variance : mean.square();
}

torch::Tensor expected_log_normal(const BlockEncoding& block, const NormalGamma& components) {
  const NormalGammaMoments expected = moments(components);
  const double log_two_pi = std::log(2.0 * std::numbers::pi);
  // The square in eq:Elogp is expanded, so that the sum over d is two matrix products.
  const torch::Tensor constant =
      0.5 * (expected.log_alpha - log_two_pi - expected.alpha_mu2).sum(1);  // [K]
  return torch::addmm(constant, block.mean, expected.alpha_mu.t()) -
         0.5 * block.second_moment().matmul(expected.alpha.t());
}

torch::Tensor assignment_probabilities(const torch::Tensor& expected_log_normal,
                                       const torch::Tensor& expected_log_weights) {
  return torch::softmax(expected_log_normal + expected_log_weights, 1);
}

torch::Tensor clamp_labels(const torch::Tensor& assignment_probabilities,
                           const torch::Tensor& labels) {
  if (!labels.defined()) return assignment_probabilities;
  const torch::Tensor known = labels.ge(0);
  const torch::Tensor one_hot = torch::zeros_like(assignment_probabilities)
                                    .scatter_(1, labels.clamp_min(0).unsqueeze(1), 1.0);
  return torch::where(known.unsqueeze(1), one_hot, assignment_probabilities);
}

torch::Tensor kl_z(const BlockEncoding& block, const torch::Tensor& expected_log_normal,
                   const torch::Tensor& responsibilities) {
  const torch::Tensor log_density = (responsibilities * expected_log_normal).sum(1);
  if (!block.variance.defined()) return -log_density;
  const torch::Tensor entropy =
      0.5 *
      (torch::log(block.variance) + std::log(2.0 * std::numbers::pi * std::numbers::e)).sum(1);
  return -log_density - entropy;
}

torch::Tensor kl_r(const torch::Tensor& responsibilities,
                   const torch::Tensor& expected_log_weights) {
  return (torch::xlogy(responsibilities, responsibilities) -
          responsibilities * expected_log_weights)
      .sum(1);
}

HyperpriorKl hyperprior_kl(const FactorParameters& parameters, const FactorHyperprior& hyperprior) {
  return {kl_divergence(parameters.components, hyperprior.components).sum(1),
          weights_kl(parameters.counts, parameters.concentration, hyperprior.count)};
}

FactorTerms factor_terms(const BlockEncoding& block, const FactorParameters& parameters,
                         const torch::Tensor& labels) {
  const torch::Tensor log_normal = expected_log_normal(block, parameters.components);
  const torch::Tensor log_weights =
      expected_log_weights(parameters.counts, parameters.concentration);
  const torch::Tensor gamma =
      clamp_labels(assignment_probabilities(log_normal, log_weights), labels).detach();
  torch::Tensor label_log_likelihood;
  if (labels.defined()) {
    const torch::Tensor log_g = torch::log_softmax(log_normal + log_weights, 1);
    const torch::Tensor at_label = log_g.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
    label_log_likelihood = torch::where(labels.ge(0), at_label, torch::zeros_like(at_label));
  } else {
    label_log_likelihood = torch::zeros({block.mean.size(0)}, block.mean.options());
  }
  return {gamma, kl_z(block, log_normal, gamma), kl_r(gamma, log_weights), label_log_likelihood};
}

FactorTerms factor_terms(const BlockEncoding& block, const FactorPosterior& posterior,
                         const torch::Tensor& labels) {
  if (const auto terms = kernel_factor_terms(block, posterior, labels)) return *terms;
  return factor_terms(block, posterior.parameters(), labels);
}

torch::Tensor e_step(const BlockEncoding& block, const FactorPosterior& posterior,
                     const torch::Tensor& labels) {
  torch::NoGradGuard no_gradient;
  return clamp_labels(assignment_probabilities(expected_log_normal(block, posterior.mean()),
                                               posterior.expected_log_weights()),
                      labels);
}

FactorStatistics statistics(const BlockEncoding& block, const torch::Tensor& responsibilities) {
  const torch::Tensor gamma = responsibilities.t();  // [K, B]
  return {responsibilities.sum(0), gamma.matmul(block.mean), gamma.matmul(block.second_moment())};
}

FactorPosterior conjugate_posterior(const FactorStatistics& statistics, double scale,
                                    const FactorHyperprior& hyperprior) {
  const auto& [m0, s0, a0, b0] = hyperprior.components;
  const torch::Tensor counts = scale * statistics.counts;                        // [K]
  const torch::Tensor spread = counts.unsqueeze(1).expand_as(statistics.first);  // [K, D]
  return {{a0 + 0.5 * spread - 0.5, -(b0 + 0.5 * s0 * m0 * m0 + 0.5 * scale * statistics.second),
           s0 * m0 + scale * statistics.first, -0.5 * (s0 + spread)},
          hyperprior.count + counts,
          hyperprior.concentration};
}

void natural_step(FactorPosterior& posterior, const FactorPosterior& optimum,
                  const torch::Tensor& rho) {
  const NamedTensors from = posterior.tensors(), to = optimum.tensors();
  for (size_t i = 0; i < from.size(); ++i) from[i].second.lerp_(to[i].second, rho);
}

void natural_gradient_update(FactorPosterior& posterior, const BlockEncoding& block,
                             const torch::Tensor& labels, const NaturalGradient& step,
                             const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  if (kernel_natural_gradient_update(posterior, block, labels, step, hyperprior)) return;
  const torch::Tensor responsibilities = e_step(block, posterior, labels);
  natural_step(posterior,
               conjugate_posterior(statistics(block, responsibilities), step.scale, hyperprior),
               step.rho);
}

torch::Tensor predictive_log_density(const torch::Tensor& z, const FactorPosterior& posterior) {
  return torch::logsumexp(
      torch::log(posterior.expected_weights()) + student_t_log_density(z, posterior.mean()), 1);
}

FactorialMixture::FactorialMixture(std::vector<FactorOptions> options, const Hyperprior& numbers,
                                   torch::Device device, bool stick_breaking)
    : factors(std::move(options)) {
  const auto fail = [](const std::string& object, const std::string& found,
                       const std::string& expected) {
    Attempt{"building the prior", object}.fail(found, expected);
  };
  if (factors.empty()) fail("model.factors", "no factor", "at least one");
  std::set<std::string> names;
  for (const FactorOptions& factor : factors) {
    if (factor.name.empty()) fail("model.factors", "a factor without a name", "a name");
    if (!names.insert(factor.name).second) fail(factor.name, "two factors of this name", "one");
    if (factor.components < 1 || factor.dimensions < 1)
      fail(factor.name,
           fmt::format("{} components, {} dimensions", factor.components, factor.dimensions),
           "at least 1 of each");
    FactorHyperprior hyperprior(numbers, factor.dimensions, device);
    if (stick_breaking && !factor.named()) {
      hyperprior.concentration = torch::full_like(hyperprior.count, numbers.concentration);
      hyperprior.count.fill_(1.0);  // the first number of the sticks' Beta(1, alpha)
    }
    const auto fill = [&](const torch::Tensor& value) {
      return value.expand({factor.components, factor.dimensions}).clone();
    };
    const auto& [m, s, a, b] = hyperprior.components;
    posteriors.push_back(FactorPosterior::from_mean({fill(m), fill(s), fill(a), fill(b)},
                                                    hyperprior.count.expand({factor.components})));
    posteriors.back().concentration = hyperprior.concentration;
    hyperpriors.push_back(std::move(hyperprior));
  }
}

int64_t FactorialMixture::dimensions() const { return block_begin(factors.size()); }

int64_t FactorialMixture::block_begin(size_t factor) const {
  int64_t begin = 0;
  for (size_t i = 0; i < factor; ++i) begin += factors[i].dimensions;
  return begin;
}

torch::Tensor FactorialMixture::held_images(size_t factor) const {
  return (posteriors[factor].counts - hyperpriors[factor].count)
      .clamp_min(0)
      .to(torch::kCPU)
      .contiguous();
}

size_t FactorialMixture::index_of(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i].name == name) return i;
    names.push_back(factors[i].name);
  }
  for (size_t i = 0; i < factors.size(); ++i)
    if (!name.empty() && factors[i].original == name) return i;
  throw Error({.doing = "looking up a factor",
               .object = name,
               .found = "no factor of this name",
               .expected = "one of the model's",
               .cause = suggest(name, names)});
}

std::vector<torch::Tensor> FactorialMixture::split(const torch::Tensor& z) const {
  std::vector<int64_t> sizes;
  for (const FactorOptions& factor : factors) sizes.push_back(factor.dimensions);
  return z.to(kFloat64).split_with_sizes(sizes, 1);
}

std::vector<BlockEncoding> FactorialMixture::split(const torch::Tensor& mean,
                                                   const torch::Tensor& variance) const {
  const auto means = split(mean), variances = split(variance);
  std::vector<BlockEncoding> blocks;
  for (size_t i = 0; i < size(); ++i) blocks.push_back({means[i], variances[i]});
  return blocks;
}

void FactorialMixture::to(torch::Device device) {
  for (size_t i = 0; i < size(); ++i) {
    hyperpriors[i] = hyperpriors[i].to(device);
    posteriors[i] = posteriors[i].to(device);
    posteriors[i].concentration = hyperpriors[i].concentration;
  }
}

torch::Tensor predictive_log_density(const FactorialMixture& prior, const torch::Tensor& z) {
  if (const auto density = kernel_predictive_log_density(prior, z)) return *density;
  const auto blocks = prior.split(z);
  torch::Tensor sum = torch::zeros({z.size(0)}, blocks.front().options());
  for (size_t i = 0; i < prior.size(); ++i)
    sum = sum + predictive_log_density(blocks[i], prior.posteriors[i]);
  return sum;
}

torch::Tensor labels_of_factor(const torch::Tensor& labels, size_t factor) {
  return labels.defined() ? labels.select(1, static_cast<int64_t>(factor)) : torch::Tensor();
}

std::vector<FactorTerms> factor_terms(const FactorialMixture& prior, const torch::Tensor& mean,
                                      const torch::Tensor& log_variance,
                                      const std::vector<FactorParameters>& parameters,
                                      const torch::Tensor& labels) {
  std::vector<FactorTerms> terms =
      kernel_factor_terms(prior, mean, log_variance, parameters, labels);
  const auto computed = [](const FactorTerms& factor) { return factor.kl_z.defined(); };
  if (std::all_of(terms.begin(), terms.end(), computed)) return terms;
  const auto blocks = prior.split(mean, torch::exp(log_variance));
  for (size_t i = 0; i < prior.size(); ++i) {
    if (computed(terms[i])) continue;
    const torch::Tensor known = labels_of_factor(labels, i);
    terms[i] = parameters[i].defined() ? factor_terms(blocks[i], parameters[i], known)
                                       : factor_terms(blocks[i], prior.posteriors[i], known);
  }
  return terms;
}

void natural_gradient_update(FactorialMixture& prior, const torch::Tensor& mean,
                             const torch::Tensor& log_variance, const torch::Tensor& labels,
                             const NaturalGradient& step, const std::vector<bool>& updated) {
  torch::NoGradGuard no_gradient;
  if (kernel_natural_gradient_update(prior, mean, log_variance, labels, step, updated)) return;
  const auto blocks = prior.split(mean, torch::exp(log_variance));
  for (size_t i = 0; i < prior.size(); ++i)
    if (updated[i])
      natural_gradient_update(prior.posteriors[i], blocks[i], labels_of_factor(labels, i), step,
                              prior.hyperpriors[i]);
}

}  // namespace facet
