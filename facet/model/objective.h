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

/// What a step with labels asks of the networks besides the bound of its batch.
struct FurtherInput {
  std::vector<torch::Tensor> images;  ///< for the encoder, [n, C, H, W] each
  torch::Tensor z;                    ///< for the decoder, [n, Z]; may be undefined

  bool empty() const { return images.empty() && !z.defined(); }
};

/// The terms of a batch, and what the networks gave besides.
struct JointTerms {
  BoundTerms batch;
  /// log g of all further images (eq:resp), [n, K]; undefined for free factors.
  std::vector<torch::Tensor> log_g;
  torch::Tensor output;  ///< the decoder's, of the further z
};

/// bound_terms() with further input, in one pass of each network and of each named factor's
/// mixture: on a GPU a step takes as long as its kernels are many. `parameters[i]` must be defined
/// for named factors where there are further images.
JointTerms joint_terms(Vae& model, const std::vector<FactorParameters>& parameters,
                       const torch::Tensor& x, const torch::Tensor& seen,
                       const torch::Tensor& labels, const Key& noise, const FurtherInput& further);

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

/// The same from log g of images that need no other term, [n, K] for named factors. `weights` [n]
/// says what each image counts, in place of the mean.
torch::Tensor label_loss(const std::vector<torch::Tensor>& log_g, const torch::Tensor& labels,
                         const torch::Tensor& weights,
                         const std::vector<torch::Tensor>& value_weights);

/// The mean over images from their encodings; `parameters[i]` must be defined for named factors,
/// those with value weights.
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
