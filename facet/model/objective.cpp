#include "facet/model/objective.h"

#include <tuple>

#include "facet/core/torch.h"
#include "facet/ops/latent.h"
#include "facet/ops/sums.h"
#include "facet/prior/mixture_kernels.h"
#include "facet/prior/weights.h"

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

namespace {

/// What encodings and a mixture say of each other, [B, K] each and [K].
struct MixtureScores {
  torch::Tensor log_normal, log_weights, log_g;
};

MixtureScores scores_of(const BlockEncoding& block, const FactorParameters& parameters) {
  const torch::Tensor log_normal = expected_log_normal(block, parameters.components);
  const torch::Tensor log_weights =
      expected_log_weights(parameters.counts, parameters.concentration);
  return {log_normal, log_weights, torch::log_softmax(log_normal + log_weights, 1)};
}

/// A batch's rows and those of further images. Split, for then the gradient is put together at
/// once.
struct Rows {
  torch::Tensor batch, further;

  Rows(const torch::Tensor& all, int64_t count) {
    const auto parts = all.split_with_sizes({count, all.size(0) - count});
    batch = parts[0];
    further = parts[1];
  }
};

/// The terms of a batch as factor_terms() has them, from the scores of its rows.
FactorTerms terms_of_batch(const BlockEncoding& block, const torch::Tensor& log_normal,
                           const torch::Tensor& log_weights, const torch::Tensor& log_g,
                           const torch::Tensor& labels) {
  const torch::Tensor gamma = clamp_labels(log_g.detach().exp(), labels);
  const torch::Tensor at_label = log_g.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
  return {gamma, kl_z(block, log_normal, gamma), kl_r(gamma, log_weights),
          torch::where(labels.ge(0), at_label, torch::zeros_like(at_label))};
}

/// The terms of every factor for the first rows of the encodings, and log g of named factors for
/// the others.
void add_factor_terms(JointTerms& terms, const FactorialMixture& prior, const Encoding& all,
                      const std::vector<FactorParameters>& parameters,
                      const torch::Tensor& labels) {
  const Encoding& encoding = terms.batch.encoding;
  const int64_t count = encoding.mean.size(0);
  std::vector<FactorTerms>& factors = terms.batch.factors;
  factors = kernel_factor_terms(prior, encoding.mean, encoding.log_variance, parameters, labels);
  terms.log_g.resize(prior.size());
  const auto blocks = prior.split(all.mean, all.variance());
  for (size_t i = 0; i < prior.size(); ++i) {
    if (factors[i].kl_z.defined()) continue;
    const Rows mean(blocks[i].mean, count), variance(blocks[i].variance, count);
    const BlockEncoding block{mean.batch, variance.batch};
    const torch::Tensor known = labels_of_factor(labels, i);
    if (prior.factors[i].named()) {
      const MixtureScores scores = scores_of(blocks[i], parameters[i]);
      const Rows log_g(scores.log_g, count);
      factors[i] = terms_of_batch(block, Rows(scores.log_normal, count).batch, scores.log_weights,
                                  log_g.batch, known);
      terms.log_g[i] = log_g.further;
    } else {
      factors[i] = parameters[i].defined() ? factor_terms(block, parameters[i], known)
                                           : factor_terms(block, prior.posteriors[i], known);
    }
  }
}

}  // namespace

JointTerms joint_terms(Vae& model, const std::vector<FactorParameters>& parameters,
                       const torch::Tensor& x, const torch::Tensor& seen,
                       const torch::Tensor& labels, const Key& noise, const FurtherInput& further) {
  if (further.empty()) return {bound_terms(model, parameters, x, seen, labels, noise), {}, {}};
  JointTerms terms;
  BoundTerms& batch = terms.batch;
  const int64_t count = x.size(0);
  if (further.images.empty()) {
    std::tie(batch.encoding, batch.z) = model.encode_and_sample(seen, noise);
    batch.factors = factor_terms(model.prior, batch.encoding.mean, batch.encoding.log_variance,
                                 parameters, labels);
  } else {
    std::vector<torch::Tensor> images = further.images;
    images.insert(images.begin(), seen);
    const Encoding all = model.encode(torch::cat(images));
    batch.encoding = {Rows(all.mean, count).batch, Rows(all.log_variance, count).batch};
    batch.z = batch.encoding.sample(noise);
    add_factor_terms(terms, model.prior, all, parameters, labels);
  }
  torch::Tensor output;
  if (further.z.defined()) {
    const Rows outputs(model.decode(torch::cat({batch.z, further.z.to(batch.z.scalar_type())})),
                       count);
    output = outputs.batch;
    terms.output = outputs.further;
  } else {
    output = model.decode(batch.z);
  }
  batch.reconstruction = model.likelihood().log_density(x, output);
  return terms;
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

torch::Tensor label_loss(const std::vector<torch::Tensor>& log_g, const torch::Tensor& labels,
                         const torch::Tensor& weights,
                         const std::vector<torch::Tensor>& value_weights) {
  const torch::Tensor values = labels.clamp_min(0);
  const torch::Tensor counted = labels.ge(0) * weights.unsqueeze(1);  // 0 where there is no label
  torch::Tensor sum = torch::zeros({}, weights.options());
  for (size_t i = 0; i < log_g.size(); ++i) {
    if (!value_weights[i].defined()) continue;
    const torch::Tensor value = labels_of_factor(values, i);
    const torch::Tensor at_label = log_g[i].gather(1, value.unsqueeze(1)).squeeze(1);
    sum = sum + torch::dot(value_weights[i].index_select(0, value) * labels_of_factor(counted, i),
                           at_label);
  }
  return -sum;
}

torch::Tensor label_loss(const FactorialMixture& prior, const Encoding& encoding,
                         const std::vector<FactorParameters>& parameters,
                         const torch::Tensor& labels,
                         const std::vector<torch::Tensor>& value_weights) {
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  std::vector<torch::Tensor> log_g(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i)
    if (value_weights[i].defined()) log_g[i] = scores_of(blocks[i], parameters[i]).log_g;
  const auto count = static_cast<double>(labels.size(0));
  return label_loss(log_g, labels,
                    torch::full({labels.size(0)}, 1.0 / count, blocks.front().mean.options()),
                    value_weights);
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
