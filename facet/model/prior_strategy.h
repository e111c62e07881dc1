// What one kind of prior does in training that others do not: where its components start, which of
// its numbers gradients flow to, how they move after the networks have moved. All kinds keep their
// components as a FactorialMixture, so that bound, files and pictures are the same for all. The
// model owns the strategy that `model.prior` names. To add a prior: a file with its class, and one
// line of the table in prior_strategy.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/model/model_options.h"
#include "facet/model/posterior_optimizer.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

class Vae;

/// The batch of a joint step, after whose gradient the components move.
struct JointBatch {
  torch::Tensor x;       ///< in the likelihood's units, [B, C, H, W]
  torch::Tensor labels;  ///< int64 [B, I], -1 where unknown; undefined where there are none
  bool supervised;       ///< whether labels have weight in this step
  torch::Tensor
      learning_rate;        ///< of components that move by Adam, one float64 number on the device
  NaturalGradient natural;  ///< the step of components that move by natural gradients
};

class PriorStrategy {
 public:
  virtual ~PriorStrategy() = default;

  /// Parameters of its own that gradients move beside the networks, such as a VampPrior's
  /// pseudo-inputs.
  virtual NamedTensors own_parameters() const { return {}; }
  /// Whether its components are fitted to encodings of a fixed encoder, in phase 2.
  virtual bool fits_encodings() const { return true; }
  /// Whether q(xi) is a posterior with a hyperprior, whose KL belongs to the bound.
  virtual bool bayesian() const { return false; }
  /// Whether the components are numbers of their own, which an average of weights averages too;
  /// false where they are functions of the networks.
  virtual bool has_own_components() const { return true; }

  /// Before the first step of training on so many images: makes the optimizers. An Error where
  /// images are too few.
  virtual void begin(const Vae& model, const AdamOptions& adam, int64_t images);
  /// Places components that are not fitted to encodings; after phase 1.
  virtual void place(Vae& model, const ImageSet& images, const Key& key);
  /// Before the first joint step.
  virtual void begin_joint(Vae& model);
  /// The parameters of every factor that gradients flow to in a joint step; undefined where the
  /// factor's posterior is a constant of the step.
  virtual std::vector<FactorParameters> parameters(const Vae& model, bool supervised);
  /// What the loss of a supervised step has beside the batch's own; undefined for nothing.
  virtual torch::Tensor penalty(const Vae& model, const std::vector<FactorParameters>& parameters,
                                int64_t images) const;
  /// Moves the components after the networks have moved.
  virtual void after_gradient(Vae& model, const JointBatch& batch);
  /// Gives dead components of free factors images again.
  virtual void revive(Vae& model, const Key& key);
  /// After the networks' numbers were exchanged for others.
  virtual void refresh(Vae& model);

  /// Optimizers of posteriors that move by gradients, by the factor's name; for checkpoints.
  PosteriorOptimizers& optimizers() { return optimizers_; }
  const PosteriorOptimizers& optimizers() const { return optimizers_; }

 protected:
  /// Parameters of factor i that gradients flow to, until step_by_gradient.
  FactorParameters track(const Vae& model, size_t factor);
  void step_by_gradient(Vae& model, size_t factor, const torch::Tensor& learning_rate);

  PosteriorOptimizers optimizers_;
};

/// A kind of prior as the table has it.
struct PriorKind {
  const char* name;     ///< in configs
  const char* meaning;  ///< one clause for the reference
  /// An Error where the factors are not as this prior needs them.
  std::unique_ptr<PriorStrategy> (*make)(const ModelOptions& options, const ImageShape& shape);
};
const std::vector<PriorKind>& prior_kinds();

/// The strategy that options.prior names.
std::unique_ptr<PriorStrategy> make_prior_strategy(const ModelOptions& options,
                                                   const ImageShape& shape);

}  // namespace facet
