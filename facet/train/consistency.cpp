#include "facet/train/consistency.h"

#include <vector>

#include "facet/core/torch.h"
#include "facet/model/objective.h"
#include "facet/prior/sampling.h"

namespace facet {

namespace {

/// Sampled pixels with the gradient of their mean. Sampling keeps the decoder from hiding the value
/// in a pattern too faint to see.
torch::Tensor drawn_pixels(const Likelihood& likelihood, const Key& key,
                           const torch::Tensor& output) {
  const torch::Tensor mean = likelihood.mean(output);
  return likelihood.sample(key, output).detach() + (mean - mean.detach());
}

}  // namespace

torch::Tensor consistency_loss(const Vae& model, const Key& key, int64_t count) {
  const FactorialMixture& prior = model.prior;
  const LatentSample drawn = sample_even_values_captured(key, prior, count);
  const torch::Tensor output = model.decode(drawn.z);
  const Encoding encoding =
      model.encode(drawn_pixels(model.likelihood(), key.fold("pixels"), output));
  std::vector<FactorParameters> parameters(prior.size());
  std::vector<torch::Tensor> value_weights(prior.size());
  for (size_t i = 0; i < prior.size(); ++i) {
    if (!prior.factors[i].named()) continue;
    // Values are drawn equally often, so they have equal pseudo-counts.
    value_weights[i] = torch::ones_like(prior.posteriors[i].counts);
    parameters[i] = {prior.posteriors[i].mean(), value_weights[i]};
  }
  return label_loss(prior, encoding, parameters, drawn.components, value_weights);
}

}  // namespace facet
