// First-order updates of a factor's posterior. While the cross-entropy of eq:semi-sup has weight,
// the natural gradient of a named factor has no closed form, and Adam updates its mean parameters
// in the unconstrained form m, log s, log a, log b, log c. The same holds for point estimates of
// components (prior/point_mass.h), where m, log b and log c are mean, variance and weight, and log
// s and log a are fixed. The state remains the natural parameters: every step starts from them and
// writes them back.
#pragma once

#include <map>
#include <string>

#include "facet/nets/adam.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

class PosteriorOptimizer {
 public:
  enum class Kind { posterior, point_mass };

  PosteriorOptimizer(const FactorPosterior& posterior, AdamOptions options, Kind kind);

  /// Mean parameters of `posterior` that gradients flow to; valid until step().
  FactorParameters track(const FactorPosterior& posterior);
  /// Whether gradients flow to it in the current step, and those of backward(), flat.
  bool tracked() const { return tracked_; }
  torch::Tensor& gradient() { return flat_.mutable_grad(); }
  /// One Adam step with the gradients of backward(), written to the existing tensors of
  /// `posterior`.
  void step(FactorPosterior& posterior, const torch::Tensor& learning_rate);

  /// For checkpoints.
  int64_t steps() const { return steps_.item<int64_t>(); }
  const AdamMoments& moments() const { return moments_; }
  void restore(int64_t steps, const AdamMoments& moments);

 private:
  FactorParameters from_flat(const torch::Tensor& flat) const;

  AdamOptions options_;
  Kind kind_;
  int64_t components_, dimensions_;
  torch::Tensor flat_;  ///< float64 [4 K D + K]
  bool tracked_ = false;
  AdamMoments moments_;
  torch::Tensor steps_;  ///< an int64 scalar on the device
};

/// The optimizers of a model, by the factor's name.
using PosteriorOptimizers = std::map<std::string, PosteriorOptimizer>;

}  // namespace facet
