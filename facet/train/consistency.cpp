#include "facet/train/consistency.h"

#include <algorithm>
#include <vector>

#include "facet/core/torch.h"
#include "facet/model/objective.h"
#include "facet/prior/mixture_kernels.h"

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

LatentSample consistency_sample(const Vae& model, const Key& key, int64_t count) {
  return sample_even_values_captured(key, model.prior, count);
}

torch::Tensor even_value_loss(const FactorialMixture& prior, const Encoding& encoding,
                              const torch::Tensor& values) {
  FactorialMixture even = prior;
  std::vector<torch::Tensor> value_weights(prior.size());
  std::vector<FactorParameters> parameters(prior.size());
  for (size_t i = 0; i < prior.size(); ++i) {
    if (!prior.factors[i].named()) {
      parameters[i].counts = prior.posteriors[i].counts;  // defined: no kernel computes its terms
      continue;
    }
    value_weights[i] = torch::ones_like(prior.posteriors[i].counts);
    even.posteriors[i].counts = value_weights[i];
  }
  const auto terms =
      kernel_factor_terms(even, encoding.mean, encoding.log_variance, parameters, values);
  const auto computed = [](const FactorTerms& factor) { return factor.kl_z.defined(); };
  if (std::any_of(terms.begin(), terms.end(), computed))
    return label_loss(terms, values, value_weights);
  for (size_t i = 0; i < prior.size(); ++i)
    if (prior.factors[i].named()) parameters[i] = even.posteriors[i].parameters();
  return label_loss(even, encoding, parameters, values, value_weights);
}

torch::Tensor consistency_loss(const Vae& model, const Key& key, const LatentSample& drawn,
                               const torch::Tensor& output) {
  return even_value_loss(model.prior,
                         model.encode(drawn_pixels(model.likelihood(), key.fold("pixels"), output)),
                         drawn.components);
}

torch::Tensor consistency_loss(const Vae& model, const Key& key, int64_t count) {
  const LatentSample drawn = consistency_sample(model, key, count);
  return consistency_loss(model, key, drawn, model.decode(drawn.z));
}

}  // namespace facet
