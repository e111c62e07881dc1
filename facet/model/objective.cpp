#include "facet/model/objective.h"

namespace facet {

torch::Tensor BoundTerms::kl_z() const {
  torch::Tensor sum = factors.front().kl_z;
  for (size_t i = 1; i < factors.size(); ++i) sum = sum + factors[i].kl_z;
  return sum;
}

torch::Tensor BoundTerms::kl_r() const {
  torch::Tensor sum = factors.front().kl_r;
  for (size_t i = 1; i < factors.size(); ++i) sum = sum + factors[i].kl_r;
  return sum;
}

torch::Tensor BoundTerms::bound() const {
  return reconstruction.to(torch::kFloat64) - kl_z() - kl_r();
}

torch::Tensor labels_of_factor(const torch::Tensor& labels, size_t factor) {
  return labels.defined() ? labels.select(1, static_cast<int64_t>(factor)) : torch::Tensor();
}

BoundTerms bound_terms(Vae& model, const torch::Tensor& x, const torch::Tensor& labels,
                       const Key& noise) {
  std::vector<FactorParameters> parameters;
  for (const FactorPosterior& posterior : model.prior.posteriors)
    parameters.push_back(posterior.parameters());
  return bound_terms(model, parameters, x, labels, noise);
}

BoundTerms bound_terms(Vae& model, const std::vector<FactorParameters>& parameters,
                       const torch::Tensor& x, const torch::Tensor& labels, const Key& noise) {
  BoundTerms terms;
  terms.encoding = model.encode(x);
  const torch::Tensor output = model.decode(terms.encoding.sample(noise));
  terms.reconstruction = model.likelihood().log_density(x, output);
  const auto blocks = model.prior.split(terms.encoding.mean, terms.encoding.variance());
  for (size_t i = 0; i < model.prior.size(); ++i)
    terms.factors.push_back(factor_terms(blocks[i], parameters[i], labels_of_factor(labels, i)));
  return terms;
}

torch::Tensor label_loss(const std::vector<FactorTerms>& factors, const torch::Tensor& labels,
                         const std::vector<torch::Tensor>& value_weights) {
  torch::Tensor loss = torch::zeros({}, torch::dtype(torch::kFloat64).device(labels.device()));
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!value_weights[i].defined()) continue;
    const torch::Tensor at_label =
        value_weights[i].index_select(0, labels_of_factor(labels, i).clamp_min(0));
    loss = loss - (at_label * factors[i].label_log_likelihood).mean();
  }
  return loss;
}

torch::Tensor batch_loss(const BoundTerms& terms, const torch::Tensor& labels,
                         const ObjectiveWeights& weights) {
  const torch::Tensor loss =
      -(terms.reconstruction.mean() - weights.kl_z * terms.kl_z().mean() - terms.kl_r().mean());
  if (!weights.labels.defined() || !labels.defined()) return loss;
  return loss + weights.labels * label_loss(terms.factors, labels, weights.values);
}

torch::Tensor standard_normal_kl(const Encoding& encoding) {
  return 0.5 * (encoding.mean.square() + encoding.variance() - 1.0 - encoding.log_variance).sum(1);
}

}  // namespace facet
