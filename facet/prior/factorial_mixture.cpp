#include "facet/prior/factorial_mixture.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/cuda/ops.h"
#include "facet/prior/dirichlet.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

/// On a card everything about a posterior is computed by kernels of ours from these.
cuda::PriorFactorTensors kernel_input(const FactorPosterior& posterior,
                                      const torch::Tensor& labels) {
  const NaturalNormalGamma& natural = posterior.components;
  return {natural.log_alpha, natural.alpha,    natural.alpha_mu,
          natural.alpha_mu2, posterior.counts, labels};
}

cuda::NaturalStepNumbers kernel_input(const NaturalGradient& step, const Hyperprior& hyperprior) {
  const auto& [m0, s0, a0, b0, c0] = hyperprior;
  return {step.scale, step.rho, m0, s0, a0, b0, c0};
}

FactorTerms from_kernel(const cuda::PriorTermTensors& terms) {
  return {terms.responsibilities, terms.kl_z, terms.kl_r, terms.label_log_likelihood};
}

/// Whether a block is a constant on a card: its terms have no gradient there.
bool kernels_take(const BlockEncoding& block) {
  return cuda::takes_block(block.mean) &&
         !(at::GradMode::is_enabled() &&
           (block.mean.requires_grad() || block.variance.requires_grad()));
}

}  // namespace

void FactorOptions::visit(OptionVisitor& visitor) {
  visitor.option("name", name, "What the factor is called in files, pictures and options.");
  visitor.option("components", components, "K, the number of clusters of its mixture.",
                 at_least(1));
  visitor.option("dimensions", dimensions, "D, the numbers of its block of the latent vector.",
                 at_least(1));
  visitor.option("property", property,
                 "A labelled property of the data that names this factor; empty leaves it free.");
  visitor.option("values", values,
                 "Names of a named factor's components; training fills them in from the data.");
}

int64_t FactorOptions::component_of(const std::string& text) const {
  for (size_t k = 0; k < values.size(); ++k)
    if (values[k] == text) return static_cast<int64_t>(k);
  int64_t index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && end == text.data() + text.size() && index >= 0 && index < components)
    return index;
  throw Error({.doing = fmt::format("choosing a component of factor '{}'", name),
               .object = text,
               .found = "no component of this name",
               .expected = fmt::format("0 to {}{}", components - 1,
                                       values.empty() ? "" : " or a value's name"),
               .cause = values.empty() ? "" : suggest(text, values)});
}

std::string FactorOptions::component_name(int64_t component) const {
  const auto index = static_cast<size_t>(component);
  return index < values.size() ? values[index] : std::to_string(component);
}

void Hyperprior::visit(OptionVisitor& visitor) {
  const Constraint positive = at_least(1e-300);
  visitor.option("m0", m0, "Expected mean of a component.");
  visitor.option("s0", s0, "Weight of m0, in images.", positive);
  visitor.option("a0", a0, "Shape of the precision's Gamma prior.", positive);
  visitor.option("b0", b0, "Rate of the precision's Gamma prior.", positive);
  visitor.option("c0", c0, "Dirichlet pseudo-count of every component.", positive);
}

NormalGamma Hyperprior::normal_gamma(torch::Device device) const {
  const auto scalar = [&](double value) {
    return torch::full({}, value, torch::TensorOptions().dtype(torch::kFloat64).device(device));
  };
  return {scalar(m0), scalar(s0), scalar(a0), scalar(b0)};
}

FactorPosterior FactorPosterior::from_mean(const NormalGamma& mean, const torch::Tensor& counts) {
  return {to_natural(mean), counts.clone()};
}

FactorPosterior FactorPosterior::to(torch::Device device) const {
  return {{components.log_alpha.to(device), components.alpha.to(device),
           components.alpha_mu.to(device), components.alpha_mu2.to(device)},
          counts.to(device)};
}

void FactorPosterior::assign(const FactorPosterior& other) {
  components.log_alpha.copy_(other.components.log_alpha);
  components.alpha.copy_(other.components.alpha);
  components.alpha_mu.copy_(other.components.alpha_mu);
  components.alpha_mu2.copy_(other.components.alpha_mu2);
  counts.copy_(other.counts);
}

torch::Tensor expected_log_normal(const BlockEncoding& block, const NormalGamma& components) {
  const NormalGammaMoments expected = moments(components);
  const double log_two_pi = std::log(2.0 * std::numbers::pi);
  // The square in eq:Elogp expanded, so that the sum over d is two matrix products.
  const torch::Tensor constant =
      0.5 * (expected.log_alpha - log_two_pi - expected.alpha_mu2).sum(1);  // [K]
  return torch::addmm(constant, block.mean, expected.alpha_mu.t()) -
         0.5 * (block.mean.square() + block.variance).matmul(expected.alpha.t());
}

torch::Tensor allocation(const torch::Tensor& expected_log_normal,
                         const torch::Tensor& expected_log_weights) {
  return torch::softmax(expected_log_normal + expected_log_weights, 1);
}

torch::Tensor clamp_labels(const torch::Tensor& allocation, const torch::Tensor& labels) {
  if (!labels.defined()) return allocation;
  const torch::Tensor known = labels.ge(0);
  const torch::Tensor one_hot =
      torch::zeros_like(allocation).scatter_(1, labels.clamp_min(0).unsqueeze(1), 1.0);
  return torch::where(known.unsqueeze(1), one_hot, allocation);
}

torch::Tensor kl_block(const BlockEncoding& block, const torch::Tensor& expected_log_normal,
                       const torch::Tensor& responsibilities) {
  const torch::Tensor entropy =
      0.5 *
      (torch::log(block.variance) + std::log(2.0 * std::numbers::pi * std::numbers::e)).sum(1);
  return -(responsibilities * expected_log_normal).sum(1) - entropy;
}

torch::Tensor kl_assignment(const torch::Tensor& responsibilities,
                            const torch::Tensor& expected_log_weights) {
  return (torch::xlogy(responsibilities, responsibilities) -
          responsibilities * expected_log_weights)
      .sum(1);
}

HyperpriorKl hyperprior_kl(const FactorParameters& parameters, const Hyperprior& hyperprior) {
  const torch::Device device = parameters.counts.device();
  return {kl_divergence(parameters.components, hyperprior.normal_gamma(device)).sum(1),
          dirichlet_kl(parameters.counts, torch::full_like(parameters.counts, hyperprior.c0))};
}

FactorTerms factor_terms(const BlockEncoding& block, const FactorParameters& parameters,
                         const torch::Tensor& labels) {
  const torch::Tensor log_normal = expected_log_normal(block, parameters.components);
  const torch::Tensor log_weights = expected_log_weights(parameters.counts);
  const torch::Tensor gamma = clamp_labels(allocation(log_normal, log_weights), labels).detach();
  torch::Tensor label_log_likelihood;
  if (labels.defined()) {
    const torch::Tensor log_g = torch::log_softmax(log_normal + log_weights, 1);
    const torch::Tensor at_label = log_g.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
    label_log_likelihood = torch::where(labels.ge(0), at_label, torch::zeros_like(at_label));
  } else {
    label_log_likelihood = torch::zeros({block.mean.size(0)}, block.mean.options());
  }
  return {gamma, kl_block(block, log_normal, gamma), kl_assignment(gamma, log_weights),
          label_log_likelihood};
}

FactorTerms factor_terms(const BlockEncoding& block, const FactorPosterior& posterior,
                         const torch::Tensor& labels) {
  if (kernels_take(block))
    return from_kernel(
        cuda::prior_terms(block.mean, block.variance, kernel_input(posterior, labels)));
  return factor_terms(block, posterior.parameters(), labels);
}

torch::Tensor e_step(const BlockEncoding& block, const FactorPosterior& posterior,
                     const torch::Tensor& labels) {
  torch::NoGradGuard no_gradient;
  return clamp_labels(allocation(expected_log_normal(block, posterior.mean()),
                                 expected_log_weights(posterior.counts)),
                      labels);
}

FactorStatistics statistics(const BlockEncoding& block, const torch::Tensor& responsibilities) {
  const torch::Tensor gamma = responsibilities.t();  // [K, B]
  return {responsibilities.sum(0), gamma.matmul(block.mean),
          gamma.matmul(block.mean.square() + block.variance)};
}

FactorPosterior conjugate_posterior(const FactorStatistics& statistics, double scale,
                                    const Hyperprior& hyperprior) {
  const auto& [m0, s0, a0, b0, c0] = hyperprior;
  const torch::Tensor counts = scale * statistics.counts;                        // [K]
  const torch::Tensor spread = counts.unsqueeze(1).expand_as(statistics.first);  // [K, D]
  return {{a0 + 0.5 * spread - 0.5, -(b0 + 0.5 * s0 * m0 * m0 + 0.5 * scale * statistics.second),
           s0 * m0 + scale * statistics.first, -0.5 * (s0 + spread)},
          c0 + counts};
}

void natural_step(FactorPosterior& posterior, const FactorPosterior& optimum,
                  const torch::Tensor& rho) {
  posterior.components.log_alpha.lerp_(optimum.components.log_alpha, rho);
  posterior.components.alpha.lerp_(optimum.components.alpha, rho);
  posterior.components.alpha_mu.lerp_(optimum.components.alpha_mu, rho);
  posterior.components.alpha_mu2.lerp_(optimum.components.alpha_mu2, rho);
  posterior.counts.lerp_(optimum.counts, rho);
}

void natural_gradient_update(FactorPosterior& posterior, const BlockEncoding& block,
                             const torch::Tensor& labels, const NaturalGradient& step,
                             const Hyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  if (cuda::takes_block(block.mean))
    return cuda::natural_gradient_update(block.mean, block.variance,
                                         kernel_input(posterior, labels),
                                         kernel_input(step, hyperprior));
  const torch::Tensor responsibilities = e_step(block, posterior, labels);
  natural_step(posterior,
               conjugate_posterior(statistics(block, responsibilities), step.scale, hyperprior),
               step.rho);
}

torch::Tensor predictive_log_density(const torch::Tensor& z, const FactorPosterior& posterior) {
  return torch::logsumexp(
      torch::log(expected_weights(posterior.counts)) + student_t_log_density(z, posterior.mean()),
      1);
}

torch::Tensor sample_components(const Key& key, const FactorPosterior& posterior, int64_t count) {
  return torch::multinomial(posterior.counts, count, /*replacement=*/true,
                            key.generator(posterior.counts.device()));
}

torch::Tensor sample_blocks(const Key& key, const FactorPosterior& posterior,
                            const torch::Tensor& components) {
  const NormalGamma all = posterior.mean();
  const auto pick = [&](const torch::Tensor& tensor) { return tensor.index_select(0, components); };
  return student_t_sample(key, {pick(all.m), pick(all.s), pick(all.a), pick(all.b)});
}

FactorialMixture::FactorialMixture(std::vector<FactorOptions> options, const Hyperprior& prior,
                                   torch::Device device)
    : factors(std::move(options)), hyperprior(prior) {
  const auto fail = [](const std::string& object, const std::string& found,
                       const std::string& expected) {
    throw Error(
        {.doing = "building the prior", .object = object, .found = found, .expected = expected});
  };
  if (factors.empty()) fail("model.factors", "no factor", "at least one");
  std::set<std::string> names;
  const NormalGamma start = hyperprior.normal_gamma(device);
  for (const FactorOptions& factor : factors) {
    if (factor.name.empty()) fail("model.factors", "a factor without a name", "a name");
    if (!names.insert(factor.name).second) fail(factor.name, "two factors of this name", "one");
    if (factor.components < 1 || factor.dimensions < 1)
      fail(factor.name,
           fmt::format("{} components, {} dimensions", factor.components, factor.dimensions),
           "at least 1 of each");
    const auto fill = [&](const torch::Tensor& value) {
      return value.expand({factor.components, factor.dimensions}).clone();
    };
    const torch::Tensor counts = torch::full({factor.components}, hyperprior.c0, start.m.options());
    posteriors.push_back(FactorPosterior::from_mean(
        {fill(start.m), fill(start.s), fill(start.a), fill(start.b)}, counts));
  }
}

int64_t FactorialMixture::dimensions() const {
  return std::accumulate(factors.begin(), factors.end(), int64_t{0},
                         [](int64_t sum, const auto& factor) { return sum + factor.dimensions; });
}

torch::Tensor FactorialMixture::held_images(size_t factor) const {
  return (posteriors[factor].counts - hyperprior.c0).clamp_min(0).to(torch::kCPU).contiguous();
}

size_t FactorialMixture::index_of(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i].name == name) return i;
    names.push_back(factors[i].name);
  }
  throw Error({.doing = "looking up a factor",
               .object = name,
               .found = "no factor of this name",
               .expected = "one of the model's",
               .cause = suggest(name, names)});
}

std::vector<torch::Tensor> FactorialMixture::split(const torch::Tensor& z) const {
  std::vector<int64_t> sizes;
  for (const FactorOptions& factor : factors) sizes.push_back(factor.dimensions);
  return z.to(torch::kFloat64).split_with_sizes(sizes, 1);
}

std::vector<BlockEncoding> FactorialMixture::split(const torch::Tensor& mean,
                                                   const torch::Tensor& variance) const {
  const auto means = split(mean), variances = split(variance);
  std::vector<BlockEncoding> blocks;
  for (size_t i = 0; i < size(); ++i) blocks.push_back({means[i], variances[i]});
  return blocks;
}

void FactorialMixture::to(torch::Device device) {
  for (FactorPosterior& posterior : posteriors) posterior = posterior.to(device);
}

torch::Tensor labels_of_factor(const torch::Tensor& labels, size_t factor) {
  return labels.defined() ? labels.select(1, static_cast<int64_t>(factor)) : torch::Tensor();
}

namespace {

/// The factors that kernels are given together, and where their blocks of [B, Z] begin.
struct KernelFactors {
  std::vector<size_t> indices;
  std::vector<cuda::PriorFactorTensors> tensors;
  std::vector<int64_t> begins;
};
template <typename Chosen>
KernelFactors kernel_factors(const FactorialMixture& prior, const torch::Tensor& labels,
                             const Chosen& chosen) {
  KernelFactors result;
  int64_t begin = 0;
  for (size_t i = 0; i < prior.size(); begin += prior.factors[i++].dimensions) {
    if (!chosen(i)) continue;
    result.indices.push_back(i);
    result.tensors.push_back(kernel_input(prior.posteriors[i], labels_of_factor(labels, i)));
    result.begins.push_back(begin);
  }
  return result;
}

}  // namespace

std::vector<FactorTerms> factor_terms(const FactorialMixture& prior, const torch::Tensor& mean,
                                      const torch::Tensor& log_variance,
                                      const std::vector<FactorParameters>& parameters,
                                      const torch::Tensor& labels) {
  std::vector<FactorTerms> terms(prior.size());
  const bool kernels = cuda::takes(mean);
  if (kernels) {
    const KernelFactors factors =
        kernel_factors(prior, labels, [&](size_t i) { return !parameters[i].defined(); });
    const auto computed = cuda::prior_terms(mean, log_variance, factors.tensors, factors.begins);
    for (size_t j = 0; j < computed.size(); ++j)
      terms[factors.indices[j]] = from_kernel(computed[j]);
    if (computed.size() == prior.size()) return terms;
  }
  const auto blocks = prior.split(mean, torch::exp(log_variance));
  for (size_t i = 0; i < prior.size(); ++i) {
    if (parameters[i].defined())
      terms[i] = factor_terms(blocks[i], parameters[i], labels_of_factor(labels, i));
    else if (!kernels)
      terms[i] = factor_terms(blocks[i], prior.posteriors[i], labels_of_factor(labels, i));
  }
  return terms;
}

void natural_gradient_update(FactorialMixture& prior, const torch::Tensor& mean,
                             const torch::Tensor& log_variance, const torch::Tensor& labels,
                             const NaturalGradient& step, const std::vector<bool>& moves) {
  torch::NoGradGuard no_gradient;
  if (cuda::takes(mean)) {
    const KernelFactors factors = kernel_factors(prior, labels, [&](size_t i) { return moves[i]; });
    return cuda::natural_gradient_update(mean, log_variance, factors.tensors, factors.begins,
                                         kernel_input(step, prior.hyperprior));
  }
  const auto blocks = prior.split(mean, torch::exp(log_variance));
  for (size_t i = 0; i < prior.size(); ++i)
    if (moves[i])
      natural_gradient_update(prior.posteriors[i], blocks[i], labels_of_factor(labels, i), step,
                              prior.hyperprior);
}

}  // namespace facet
