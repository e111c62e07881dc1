// The evidence lower bound of a batch (eq:elbo:a to eq:elbo:c) and its pre-training form with a
// N(0, I) prior. Lines eq:elbo:d and eq:elbo:e do not depend on the networks; natural-gradient
// steps take care of them.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// The terms of the bound, one number an image.
struct BoundTerms {
  Encoding encoding;
  torch::Tensor reconstruction;      ///< log p(x|z) at one draw of z, [B]
  std::vector<FactorTerms> factors;  ///< KL[z_i], KL[r_i] and responsibilities of every factor

  torch::Tensor kl_z() const;  ///< summed over the factors, float64 [B]
  torch::Tensor kl_r() const;
  /// reconstruction - kl_z - kl_r, float64 [B] (eq:test-elbo).
  torch::Tensor bound() const;
};

/// `labels` is int64 [B, I], -1 where unknown, or undefined where there are none at all.
BoundTerms bound_terms(Vae& model, const torch::Tensor& x, const torch::Tensor& labels,
                       const Key& noise);

/// The same with parameters in the place of a factor's posterior, one a factor and undefined where
/// the posterior itself is meant: gradients flow to them too. The encoder sees `seen`, which is x
/// or x with noise; what is to be reconstructed is x.
BoundTerms bound_terms(Vae& model, const std::vector<FactorParameters>& parameters,
                       const torch::Tensor& x, const torch::Tensor& seen,
                       const torch::Tensor& labels, const Key& noise);

/// Weights of the terms of the training objective, each one float64 number on the model's device.
struct ObjectiveWeights {
  torch::Tensor kl_z;    ///< of KL[z] (eq:elbo:b)
  torch::Tensor labels;  ///< Delta of eq:semi-sup; undefined leaves the term away
  /// How much each value of a named factor counts in the cross-entropy, [K]; undefined for free
  /// ones.
  std::vector<torch::Tensor> values;
};

/// The cross-entropy term of eq:semi-sup: minus the log of the assignment_probabilities at each
/// known label, times the weight of its value, summed over named factors, a mean over the images.
/// Only the terms of named factors are looked at.
torch::Tensor label_loss(const std::vector<FactorTerms>& factors, const torch::Tensor& labels,
                         const std::vector<torch::Tensor>& value_weights);

/// The same for images of which only the cross-entropy is wanted; `parameters[i]` are those of a
/// named factor, which has value weights.
torch::Tensor label_loss(const FactorialMixture& prior, const Encoding& encoding,
                         const std::vector<FactorParameters>& parameters,
                         const torch::Tensor& labels,
                         const std::vector<torch::Tensor>& value_weights);

/// What training minimises for a batch: minus eq:elbo:a to eq:elbo:c and the cross-entropy of
/// eq:semi-sup, a mean over the images.
torch::Tensor batch_loss(const BoundTerms& terms, const torch::Tensor& labels,
                         const ObjectiveWeights& weights);

/// KL(q(z|x) || N(0, I)), [B].
torch::Tensor standard_normal_kl(const Encoding& encoding);

/// What pre-training minimises: minus the bound with a N(0, I) prior, a mean over the images.
/// `kl_weight` is one float64 number on the model's device.
torch::Tensor pretrain_loss(const torch::Tensor& reconstruction, const torch::Tensor& kl,
                            const torch::Tensor& kl_weight);

}  // namespace facet
