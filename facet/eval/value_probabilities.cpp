#include "facet/eval/value_probabilities.h"

#include <cmath>

#include "facet/core/torch.h"
#include "facet/model/objective.h"

namespace facet {

namespace {

std::vector<torch::Tensor> of_one_view(const Vae& model, const Encoding& encoding) {
  const auto blocks = model.prior.split(encoding.mean, encoding.variance());
  std::vector<torch::Tensor> log_probabilities;
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const FactorOptions& factor = model.prior.factors[i];
    if (!factor.named()) continue;
    const FactorPosterior& posterior = model.prior.posteriors[i];
    const torch::Tensor scores =
        expected_log_normal(blocks[i], posterior.mean()) + posterior.expected_log_weights();
    const auto values = static_cast<int64_t>(factor.values.size());
    log_probabilities.push_back(torch::log_softmax(scores.narrow(1, 0, values), 1).cpu());
  }
  return log_probabilities;
}

}  // namespace

std::vector<torch::Tensor> value_log_probabilities(Vae& model, const torch::Tensor& x,
                                                   const Encoding& encoding, bool mirror) {
  std::vector<torch::Tensor> log_probabilities = of_one_view(model, encoding);
  if (!mirror) return log_probabilities;
  const auto mirrored = of_one_view(model, model.encode(x.flip(3)));
  for (size_t i = 0; i < mirrored.size(); ++i)
    log_probabilities[i] = torch::logaddexp(log_probabilities[i], mirrored[i]) - std::log(2.0);
  return log_probabilities;
}

}  // namespace facet
