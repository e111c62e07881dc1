#include "facet/model/objective.h"

#include "facet/core/torch.h"
#include "facet/cuda/ops.h"

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
  return {encoding, reconstruction,
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

/// Minus eq:elbo:a to eq:elbo:c, a mean over the images.
torch::Tensor unlabelled_loss(const BoundTerms& terms, const torch::Tensor& kl_weight) {
  if (cuda::takes(terms.reconstruction)) {
    std::vector<cuda::WeightedMean> means = {{terms.reconstruction, -1.0, {}}};
    for (const FactorTerms& factor : terms.factors) {
      means.push_back({factor.kl_z, 1.0, kl_weight});
      means.push_back({factor.kl_r, 1.0, {}});
    }
    return cuda::weighted_sum(means);
  }
  return -(terms.reconstruction.mean() - kl_weight * terms.kl_z().mean() - terms.kl_r().mean());
}

}  // namespace

torch::Tensor batch_loss(const BoundTerms& terms, const torch::Tensor& labels,
                         const ObjectiveWeights& weights) {
  const torch::Tensor loss = unlabelled_loss(terms, weights.kl_z);
  if (!weights.labels.defined() || !labels.defined()) return loss;
  return loss + weights.labels * label_loss(terms.factors, labels, weights.values);
}

torch::Tensor standard_normal_kl(const Encoding& encoding) {
  if (cuda::takes(encoding.mean))
    return cuda::standard_normal_kl(encoding.mean, encoding.log_variance);
  return 0.5 * (encoding.mean.square() + encoding.variance() - 1.0 - encoding.log_variance).sum(1);
}

torch::Tensor pretrain_loss(const torch::Tensor& reconstruction, const torch::Tensor& kl,
                            const torch::Tensor& kl_weight) {
  if (cuda::takes(reconstruction))
    return cuda::weighted_sum({{reconstruction, -1.0, {}}, {kl, 1.0, kl_weight}});
  return -(reconstruction.mean() - kl_weight * kl.mean());
}

}  // namespace facet
