#include "facet/model/editing.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

void require_changes(const FactorialMixture& prior, const std::vector<int64_t>& changes) {
  const Attempt editing{"editing latent vectors"};
  if (changes.size() != prior.size())
    editing.fail(fmt::format("{} components", changes.size()),
                 fmt::format("{}, one per factor", prior.size()));
  for (size_t i = 0; i < prior.size(); ++i)
    if (changes[i] >= prior.factors[i].components)
      editing.fail(fmt::format("component {} of factor '{}'", changes[i], prior.factors[i].name),
                   fmt::format("0 to {}", prior.factors[i].components - 1));
}

torch::Tensor move_block(const BlockEncoding& block, const FactorPosterior& posterior,
                         int64_t component, bool keep_offset) {
  const NormalGamma components = posterior.mean();
  const torch::Tensor new_mean = components.m[component];  // [D]
  if (!keep_offset) return new_mean.expand_as(block.mean);
  const torch::Tensor old = e_step(block, posterior, {}).argmax(1);  // [B]
  const torch::Tensor scale = torch::sqrt(squared_scale(components));
  return new_mean + (block.mean - components.m.index_select(0, old)) *
                        (scale[component] / scale.index_select(0, old));
}

/// The position of the '=' after a factor's name; names and values may themselves contain '='.
size_t end_of_name(const FactorialMixture& prior, const std::string& setting) {
  const auto is_factor = [&](size_t equals) {
    return std::any_of(prior.factors.begin(), prior.factors.end(), [&](const auto& factor) {
      return setting.compare(0, equals, factor.name) == 0;
    });
  };
  const size_t first = setting.find('=');
  size_t equals = first;
  while (equals != std::string::npos && !is_factor(equals)) equals = setting.find('=', equals + 1);
  return equals == std::string::npos ? first : equals;
}

}  // namespace

std::vector<int64_t> parse_fixed(const FactorialMixture& prior,
                                 const std::vector<std::string>& settings) {
  std::vector<int64_t> fixed(prior.size(), -1);
  for (const std::string& setting : settings) {
    const size_t equals = end_of_name(prior, setting);
    if (equals == std::string::npos)
      throw Error({.doing = "choosing a component",
                   .object = setting,
                   .found = "no '='",
                   .expected = "factor=component, with the name of a value or a number"});
    const size_t i = prior.index_of(setting.substr(0, equals));
    const FactorOptions& factor = prior.factors[i];
    const int64_t component = factor.component_of(setting.substr(equals + 1));
    if (fixed[i] >= 0 && fixed[i] != component)
      throw Error({.doing = "choosing a component",
                   .object = setting,
                   .found = fmt::format("factor '{}' at '{}' already", factor.name,
                                        factor.component_name(fixed[i])),
                   .expected = "one component per factor"});
    fixed[i] = component;
  }
  return fixed;
}

LikelyComponents likely_components(const FactorialMixture& prior, const Encoding& encoding) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> components, responsibilities;
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  for (size_t i = 0; i < prior.size(); ++i) {
    const auto [highest, index] = e_step(blocks[i], prior.posteriors[i], {}).max(1);
    responsibilities.push_back(highest);
    components.push_back(index);
  }
  return {torch::stack(components, 1), torch::stack(responsibilities, 1)};
}

torch::Tensor edit(const FactorialMixture& prior, const Encoding& encoding,
                   const std::vector<int64_t>& changes, bool keep_offset) {
  require_changes(prior, changes);
  torch::NoGradGuard no_gradient;
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  std::vector<torch::Tensor> edited;
  for (size_t i = 0; i < prior.size(); ++i)
    edited.push_back(changes[i] < 0
                         ? blocks[i].mean
                         : move_block(blocks[i], prior.posteriors[i], changes[i], keep_offset));
  return torch::cat(edited, 1);
}

torch::Tensor interpolate(const FactorialMixture& prior, const torch::Tensor& z_a,
                          const torch::Tensor& z_b, int64_t steps,
                          const std::vector<size_t>& factors) {
  if (steps < 2)
    throw Error({.doing = "interpolating latent vectors",
                 .found = fmt::format("{} steps", steps),
                 .expected = "at least 2, for both ends"});
  torch::NoGradGuard no_gradient;
  const torch::Tensor share =
      torch::linspace(0, 1, steps, z_a.options().dtype(kFloat64)).view({1, steps, 1});
  const auto from = prior.split(z_a), to = prior.split(z_b.expand_as(z_a));
  std::vector<torch::Tensor> blocks;  // [B, steps, D] each
  for (size_t i = 0; i < prior.size(); ++i) {
    const bool changes =
        factors.empty() || std::find(factors.begin(), factors.end(), i) != factors.end();
    const torch::Tensor start = from[i].unsqueeze(1), end = to[i].unsqueeze(1);
    // In this form both ends are exact, unlike in start + share (end - start).
    blocks.push_back(changes ? (1 - share) * start + share * end : start.expand({-1, steps, -1}));
  }
  return torch::cat(blocks, 2);
}

}  // namespace facet
