#include "facet/train/asking.h"

#include <vector>

#include "facet/model/objective.h"
#include "facet/prior/dirichlet.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

/// How likely each component is asked for, [K]. Components beyond a property's values stand for
/// nothing.
torch::Tensor asked_probabilities(const FactorOptions& factor, const torch::Tensor& counts) {
  if (!factor.named()) return expected_weights(counts);
  const int64_t values =
      factor.values.empty() ? factor.components : static_cast<int64_t>(factor.values.size());
  torch::Tensor probabilities = torch::zeros_like(counts);
  probabilities.narrow(0, 0, values).fill_(1.0 / static_cast<double>(values));
  return probabilities;
}

/// Components drawn with the given probabilities [K], int64 [count].
torch::Tensor draw_components(const Key& key, const torch::Tensor& probabilities, int64_t count) {
  const torch::Tensor chosen = uniform(key, {count, 1}, probabilities.options());
  return chosen.ge(probabilities.cumsum(0)).sum(1).clamp_max(probabilities.size(0) - 1);
}

/// A draw of the pixels, so that no pattern too faint for an eye can be the message, with the
/// gradient of their mean.
torch::Tensor drawn_pixels(const Likelihood& likelihood, const Key& key,
                           const torch::Tensor& output) {
  const torch::Tensor mean = likelihood.mean(output);
  return likelihood.sample(key, output).detach() + (mean - mean.detach());
}

}  // namespace

LatentSample ask(const Key& key, const FactorialMixture& prior, int64_t count) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> blocks, components;
  for (size_t i = 0; i < prior.size(); ++i) {
    const FactorPosterior& posterior = prior.posteriors[i];
    const Key factor_key = key.fold(i);
    components.push_back(draw_components(factor_key.fold("component"),
                                         asked_probabilities(prior.factors[i], posterior.counts),
                                         count));
    const NormalGamma all = posterior.mean();
    const torch::Tensor centre = all.m.index_select(0, components.back());
    const torch::Tensor scale = squared_scale(all).sqrt().index_select(0, components.back());
    blocks.push_back(centre + scale * standard_normal(factor_key.fold("block"), centre.sizes(),
                                                      centre.options()));
  }
  return {torch::cat(blocks, 1), torch::stack(components, 1)};
}

torch::Tensor asked_loss(Vae& model, const Key& key, int64_t count) {
  const FactorialMixture& prior = model.prior;
  const LatentSample asked = ask(key, prior, count);
  const torch::Tensor output = model.decode(asked.z);
  const Encoding encoding =
      model.encode(drawn_pixels(model.likelihood(), key.fold("pixels"), output));
  std::vector<FactorParameters> parameters(prior.size());
  std::vector<torch::Tensor> value_weights(prior.size());
  for (size_t i = 0; i < prior.size(); ++i) {
    if (!prior.factors[i].named()) continue;
    // Values were asked for equally often, however rare they are: equal pseudo-counts.
    value_weights[i] = torch::ones_like(prior.posteriors[i].counts);
    parameters[i] = {prior.posteriors[i].mean(), value_weights[i]};
  }
  return label_loss(prior, encoding, parameters, asked.components, value_weights);
}

}  // namespace facet
