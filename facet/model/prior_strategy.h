// The parts of training that depend on the kind of prior: how its components are initialised, which
// of its parameters gradients flow to, and how it is updated after the networks. All kinds store
// their components as a FactorialMixture, so that bound, files and pictures are the same for all.
// The model owns the strategy that `model.prior` names. To add a prior, write a file with its class
// and add a line to the table in prior_strategy.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/model/model_options.h"
#include "facet/model/posterior_optimizer.h"
#include "facet/prior/exact_fit.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/prior/move_goal.h"

namespace facet {

class Vae;
struct Encoding;

/// The batch of a joint step, for updating the prior after the networks.
struct JointBatch {
  std::function<Encoding()> encode;  ///< encodes its images anew
  torch::Tensor labels;         ///< int64 [B, I], -1 where unknown; undefined if there are none
  bool supervised;              ///< whether the label loss has weight in this step
  torch::Tensor learning_rate;  ///< for factors updated by Adam, a float64 scalar on the device
  NaturalGradient natural;      ///< for factors updated by natural gradients
};

/// How the components are fitted to the encodings of many images.
struct Refit {
  int64_t passes = 1;             ///< exact updates
  bool learn_hyperprior = false;  ///< after every update
  bool merge_and_split = false;   ///< between the updates
  MoveGoal move_goal = MoveGoal::evidence;
  bool supervised = false;  ///< whether the label loss has weight
};

class PriorStrategy {
 public:
  virtual ~PriorStrategy() = default;

  /// The prior's own parameters that are trained with the networks, such as the pseudo-inputs of a
  /// VampPrior.
  virtual NamedTensors own_parameters() const { return {}; }
  /// Whether phase 2 fits the components to the encodings of a fixed encoder.
  virtual bool fits_encodings() const { return true; }
  /// Whether q(xi) is a posterior, whose KL from the hyperprior is part of the bound.
  virtual bool bayesian() const { return false; }
  /// Whether the components are parameters, which weight averaging averages too; false if they are
  /// functions of the networks.
  virtual bool has_own_components() const { return true; }

  /// Throws an Error if there are steps of phase 2 for a prior that has no components to fit;
  /// `name` is the prior's.
  void require_fit_steps(const std::string& name, int64_t steps) const;
  /// Called before the first training step: makes the optimizers. Throws an Error if there are too
  /// few images.
  virtual void begin(const Vae& model, const AdamOptions& adam, int64_t images);
  /// Called after phase 1: initialises components that are not fitted to encodings.
  virtual void place(Vae& model, const ImageSet& images, const Key& key);
  /// Called before the first joint step.
  virtual void begin_joint(Vae& model);
  /// The parameters that gradients flow to in a joint step, one entry per factor; undefined for a
  /// factor whose posterior is constant in the step.
  virtual std::vector<FactorParameters> parameters(const Vae& model, bool supervised);
  /// An additional term of the loss in a supervised step; undefined if there is none.
  virtual torch::Tensor penalty(const Vae& model, const std::vector<FactorParameters>& parameters,
                                int64_t images) const;
  /// Updates the components after the networks.
  virtual void after_gradient(Vae& model, const JointBatch& batch);
  /// Fits the components to the encodings of many images, one entry per factor, during phase 3.
  virtual void refit(Vae& model, const std::vector<FactorData>& data, const Refit& refit,
                     const Key& key);
  /// Replaces the hyperpriors of free factors by the best ones for their posteriors.
  virtual void learn_hyperpriors(Vae& model);
  /// Called after the networks' parameters were replaced.
  virtual void refresh(Vae& model);

  /// Optimizers of posteriors that are updated by gradients, by the factor's name; for checkpoints.
  PosteriorOptimizers& optimizers() { return optimizers_; }
  const PosteriorOptimizers& optimizers() const { return optimizers_; }

 protected:
  /// Parameters of a factor that gradients flow to; valid until step_by_gradient.
  FactorParameters track(const Vae& model, size_t factor);
  void step_by_gradient(Vae& model, size_t factor, const torch::Tensor& learning_rate);

  PosteriorOptimizers optimizers_;
};

/// An entry of the table of priors.
struct PriorKind {
  const char* name;     ///< in configs
  const char* meaning;  ///< one clause for the option's help
  /// Throws an Error if this prior does not support the factors.
  std::unique_ptr<PriorStrategy> (*make)(const ModelOptions& options, const ImageShape& shape);
};
const std::vector<PriorKind>& prior_kinds();

/// The strategy that options.prior names.
std::unique_ptr<PriorStrategy> make_prior_strategy(const ModelOptions& options,
                                                   const ImageShape& shape);

}  // namespace facet
