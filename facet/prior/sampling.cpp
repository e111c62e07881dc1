#include "facet/prior/sampling.h"

#include "facet/core/torch.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

/// The number of values of a named factor; components beyond them have no value.
int64_t value_count(const FactorOptions& factor) {
  return factor.values.empty() ? factor.components : static_cast<int64_t>(factor.values.size());
}

/// The probability of each component, [K]: equal for the values of a named factor, otherwise E[pi].
torch::Tensor even_probabilities(const FactorOptions& factor, const FactorPosterior& posterior) {
  if (!factor.named()) return posterior.expected_weights();
  const int64_t values = value_count(factor);
  torch::Tensor probabilities = torch::zeros_like(posterior.counts);
  probabilities.narrow(0, 0, values).fill_(1.0 / static_cast<double>(values));
  return probabilities;
}

/// Components drawn with the given probabilities [K], by inverting the cumulative sum; int64
/// [count].
torch::Tensor invert_probabilities(const Key& key, const torch::Tensor& probabilities,
                                   int64_t count) {
  const torch::Tensor level = uniform(key, {count, 1}, probabilities.options());
  return level.ge(probabilities.cumsum(0)).sum(1).clamp_max(probabilities.size(0) - 1);
}

GaussianRows gaussian_rows(const FactorPosterior& posterior, const torch::Tensor& components) {
  const NormalGamma all = posterior.mean();
  return {all.m.index_select(0, components), squared_scale(all).sqrt().index_select(0, components)};
}

BlockDraw student_t_blocks(const Key& key, const FactorialMixture& prior) {
  return [&prior, key](size_t i, const torch::Tensor& components) {
    return sample_blocks(key.fold(i).fold("block"), prior.posteriors[i], components);
  };
}

}  // namespace

LatentSample draw_latents(const FactorialMixture& prior, const ComponentChoice& choose,
                          const BlockDraw& draw) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> blocks, components;
  for (size_t i = 0; i < prior.size(); ++i) {
    components.push_back(choose(i));
    blocks.push_back(draw(i, components.back()));
  }
  return {torch::cat(blocks, 1), torch::stack(components, 1)};
}

LatentSample sample_latents(const Key& key, const FactorialMixture& prior, int64_t count,
                            const std::vector<int64_t>& fixed, const std::vector<Groups>& groups) {
  const auto choose = [&](size_t i) {
    const FactorPosterior& posterior = prior.posteriors[i];
    const Key own = key.fold(i).fold("component");
    if (i >= fixed.size() || fixed[i] < 0) return sample_components(own, posterior, count);
    if (i >= groups.size() || groups[i].empty()) return same_component(posterior, fixed[i], count);
    return sample_components(own, posterior, count, groups[i][static_cast<size_t>(fixed[i])]);
  };
  return draw_latents(prior, choose, student_t_blocks(key, prior));
}

LatentSample sample_even_values(const Key& key, const FactorialMixture& prior, int64_t count) {
  const auto choose = [&](size_t i) {
    const FactorPosterior& posterior = prior.posteriors[i];
    const FactorOptions& factor = prior.factors[i];
    if (!factor.named()) return sample_components(key.fold(i).fold("component"), posterior, count);
    const torch::Tensor level =
        uniform(key.fold(i).fold("even"), {count}, posterior.counts.options());
    return (level * static_cast<double>(value_count(factor))).to(kInt64);
  };
  return draw_latents(prior, choose, student_t_blocks(key, prior));
}

LatentSample sample_even_values_captured(const Key& key, const FactorialMixture& prior,
                                         int64_t count) {
  const auto choose = [&](size_t i) {
    return invert_probabilities(key.fold(i).fold("component"),
                                even_probabilities(prior.factors[i], prior.posteriors[i]), count);
  };
  const auto draw = [&](size_t i, const torch::Tensor& components) {
    const auto [centre, scale] = gaussian_rows(prior.posteriors[i], components);
    return centre +
           scale * standard_normal(key.fold(i).fold("block"), centre.sizes(), centre.options());
  };
  return draw_latents(prior, choose, draw);
}

GaussianRows gaussian_rows(const FactorialMixture& prior, const torch::Tensor& components) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> centres, scales;
  for (size_t i = 0; i < prior.size(); ++i) {
    const GaussianRows rows =
        gaussian_rows(prior.posteriors[i], components.select(1, static_cast<int64_t>(i)));
    centres.push_back(rows.centre);
    scales.push_back(rows.scale);
  }
  return {torch::cat(centres, 1), torch::cat(scales, 1)};
}

LatentSample with_probable_components(const FactorialMixture& prior, const torch::Tensor& z,
                                      const torch::Tensor& labels) {
  const std::vector<torch::Tensor> blocks = prior.split(z);
  std::vector<torch::Tensor> components;
  for (size_t i = 0; i < prior.size(); ++i)
    components.push_back(
        e_step({blocks[i]}, prior.posteriors[i], labels_of_factor(labels, i)).argmax(1));
  return {z, torch::stack(components, 1)};
}

LatentSample join(const std::vector<LatentSample>& samples) {
  std::vector<torch::Tensor> z, components;
  for (const LatentSample& sample : samples) {
    z.push_back(sample.z);
    components.push_back(sample.components);
  }
  return {torch::cat(z), torch::cat(components)};
}

torch::Tensor same_component(const FactorPosterior& posterior, int64_t component, int64_t count) {
  return torch::full({count}, component, posterior.counts.options().dtype(kInt64));
}

torch::Tensor sample_components(const Key& key, const FactorPosterior& posterior, int64_t count,
                                const std::vector<int64_t>& among) {
  // A Dirichlet's pseudo-counts are in proportion to its expected weights.
  torch::Tensor weights =
      posterior.concentration.defined() ? posterior.expected_weights() : posterior.counts;
  if (!among.empty()) {
    const torch::Tensor chosen = torch::tensor(among, kInt64).to(weights.device());
    weights = torch::zeros_like(weights).index_copy(0, chosen, weights.index_select(0, chosen));
  }
  return torch::multinomial(weights, count, /*replacement=*/true,
                            key.generator(posterior.counts.device()));
}

NormalGamma chosen_components(const FactorPosterior& posterior, const torch::Tensor& components) {
  const auto rows = [&](const torch::Tensor& all) { return all.index_select(0, components); };
  const NaturalNormalGamma& natural = posterior.components;
  return to_mean({rows(natural.log_alpha), rows(natural.alpha), rows(natural.alpha_mu),
                  rows(natural.alpha_mu2)});
}

torch::Tensor sample_blocks(const Key& key, const FactorPosterior& posterior,
                            const torch::Tensor& components) {
  return student_t_sample(key, chosen_components(posterior, components));
}

}  // namespace facet
