#include "facet/model/objective.h"

#include "facet/core/torch.h"
#include "facet/ops/latent.h"
#include "facet/ops/sums.h"

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

torch::Tensor BoundTerms::bound() const { return reconstruction.to(kFloat64) - kl_z() - kl_r(); }

BoundTerms bound_terms(Vae& model, const torch::Tensor& x, const torch::Tensor& labels,
                       const Key& noise) {
  return bound_terms(model, std::vector<FactorParameters>(model.prior.size()), x, x, labels, noise);
}

BoundTerms bound_terms(Vae& model, const std::vector<FactorParameters>& parameters,
                       const torch::Tensor& x, const torch::Tensor& seen,
                       const torch::Tensor& labels, const Key& noise) {
  const auto [encoding, z] = model.encode_and_sample(seen, noise);
  const torch::Tensor reconstruction = model.likelihood().log_density(x, model.decode(z));
  return {encoding, z, reconstruction,
          factor_terms(model.prior, encoding.mean, encoding.log_variance, parameters, labels)};
}

torch::Tensor label_loss(const std::vector<FactorTerms>& factors, const torch::Tensor& labels,
                         const std::vector<torch::Tensor>& value_weights) {
  torch::Tensor loss = torch::zeros({}, torch::dtype(kFloat64).device(labels.device()));
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!value_weights[i].defined()) continue;
    const torch::Tensor at_label =
        value_weights[i].index_select(0, labels_of_factor(labels, i).clamp_min(0));
    loss = loss - (at_label * factors[i].label_log_likelihood).mean();
  }
  return loss;
}

torch::Tensor label_loss(const FactorialMixture& prior, const Encoding& encoding,
                         const std::vector<FactorParameters>& parameters,
                         const torch::Tensor& labels,
                         const std::vector<torch::Tensor>& value_weights) {
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  std::vector<FactorTerms> factors(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i)
    if (value_weights[i].defined())
      factors[i] = factor_terms(blocks[i], parameters[i], labels_of_factor(labels, i));
  return label_loss(factors, labels, value_weights);
}

namespace {

/// Minus eq:elbo:a to eq:elbo:c, the mean over the images.
torch::Tensor unlabelled_loss(const BoundTerms& terms, const torch::Tensor& kl_weight) {
  std::vector<torch::Tensor> kl_z, kl_r;
  for (const FactorTerms& factor : terms.factors) {
    kl_z.push_back(factor.kl_z);
    kl_r.push_back(factor.kl_r);
  }
  return ops::negative_elbo(terms.reconstruction, kl_z, kl_r, kl_weight);
}

}  // namespace

torch::Tensor batch_loss(const BoundTerms& terms, const torch::Tensor& labels,
                         const ObjectiveWeights& weights) {
  const torch::Tensor loss = unlabelled_loss(terms, weights.kl_z);
  if (!weights.labels.defined() || !labels.defined()) return loss;
  return loss + weights.labels * label_loss(terms.factors, labels, weights.values);
}

torch::Tensor standard_normal_kl(const Encoding& encoding) {
  return ops::standard_normal_kl(encoding.mean, encoding.log_variance);
}

torch::Tensor pretrain_loss(const torch::Tensor& reconstruction, const torch::Tensor& kl,
                            const torch::Tensor& kl_weight) {
  return ops::negative_elbo(reconstruction, {kl}, {}, kl_weight);
}

}  // namespace facet
