// The evidence lower bound of a batch (eq:elbo:a to eq:elbo:c) and its pre-training form with a
// N(0, I) prior. The terms eq:elbo:d and eq:elbo:e do not depend on the networks; natural-gradient
// steps account for them.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// The terms of the bound, one number per image.
struct BoundTerms {
  Encoding encoding;
  torch::Tensor z;                   ///< one draw, [B, Z]
  torch::Tensor reconstruction;      ///< log p(x|z), [B]
  std::vector<FactorTerms> factors;  ///< KL[z_i], KL[r_i] and responsibilities, one per factor

  torch::Tensor kl_z() const;  ///< summed over the factors, float64 [B]
  torch::Tensor kl_r() const;  ///< summed over the factors, float64 [B]
  /// reconstruction - kl_z - kl_r, float64 [B] (eq:test-elbo).
  torch::Tensor bound() const;
};

/// `labels` is int64 [B, I], -1 where unknown, or undefined if there are none.
BoundTerms bound_terms(Vae& model, const torch::Tensor& x, const torch::Tensor& labels,
                       const Key& noise);

/// The same with `parameters` instead of the posteriors, one entry per factor; an undefined entry
/// means the factor's posterior. Gradients flow to them too. The encoder gets `seen`, which is x or
/// x with noise; the decoder reconstructs x.
BoundTerms bound_terms(Vae& model, const std::vector<FactorParameters>& parameters,
                       const torch::Tensor& x, const torch::Tensor& seen,
                       const torch::Tensor& labels, const Key& noise);

/// Weights of the terms of the training objective, float64 scalars on the model's device.
struct ObjectiveWeights {
  torch::Tensor kl_z;    ///< of KL[z] (eq:elbo:b)
  torch::Tensor labels;  ///< Delta of eq:semi-sup; undefined omits the term
  /// The weight of each value of a named factor in the cross-entropy, [K]; undefined for free
  /// factors.
  std::vector<torch::Tensor> values;
};

/// The cross-entropy term of eq:semi-sup: minus the log assignment probability of each known label,
/// times the weight of its value, summed over named factors, and the mean over the images. Only the
/// terms of named factors are used.
torch::Tensor label_loss(const std::vector<FactorTerms>& factors, const torch::Tensor& labels,
                         const std::vector<torch::Tensor>& value_weights);

/// The same from encodings, for images that need no other term; `parameters[i]` must be defined for
/// named factors, those with value weights.
torch::Tensor label_loss(const FactorialMixture& prior, const Encoding& encoding,
                         const std::vector<FactorParameters>& parameters,
                         const torch::Tensor& labels,
                         const std::vector<torch::Tensor>& value_weights);

/// The training loss of a batch: minus eq:elbo:a to eq:elbo:c, plus the cross-entropy of
/// eq:semi-sup, the mean over the images.
torch::Tensor batch_loss(const BoundTerms& terms, const torch::Tensor& labels,
                         const ObjectiveWeights& weights);

/// KL(q(z|x) || N(0, I)), [B].
torch::Tensor standard_normal_kl(const Encoding& encoding);

/// The pre-training loss: minus the bound with a N(0, I) prior, the mean over the images.
/// `kl_weight` is a float64 scalar on the model's device.
torch::Tensor pretrain_loss(const torch::Tensor& reconstruction, const torch::Tensor& kl,
                            const torch::Tensor& kl_weight);

}  // namespace facet
