// First-order steps on a factor's posterior. While the cross-entropy of eq:semi-sup has weight, the
// closed-form natural gradient of a named factor is gone; its mean parameters move by Adam instead,
// in the unconstrained form m, log s, log a, log b, log c. So do point estimates of the components
// (prior/point_mass.h), where m, log b and log c stand for mean, variance and weight, and the rest
// is held. The natural parameters stay the state: each step starts from them and ends in them.
#pragma once

#include <map>
#include <string>

#include "facet/nets/adam.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

class PosteriorOptimizer {
 public:
  enum class Moves { posterior, point_mass };

  PosteriorOptimizer(const FactorPosterior& posterior, AdamOptions options, Moves moves);

  /// Mean parameters of `posterior` that gradients flow to; good until step().
  FactorParameters track(const FactorPosterior& posterior);
  /// One Adam step along the gradients that backward() left, written back to `posterior`, whose
  /// tensors stay where they are.
  void step(FactorPosterior& posterior, const torch::Tensor& learning_rate);

  /// For checkpoints.
  int64_t steps() const { return steps_.item<int64_t>(); }
  const AdamMoments& moments() const { return moments_; }
  void restore(int64_t steps, const AdamMoments& moments);

 private:
  FactorParameters from_flat(const torch::Tensor& flat) const;

  AdamOptions options_;
  Moves moves_;
  int64_t components_, dimensions_;
  torch::Tensor flat_;  ///< float64 [4 K D + K]
  AdamMoments moments_;
  torch::Tensor steps_;  ///< int64, one number on the device
};

/// Those of a model, by the factor's name.
using PosteriorOptimizers = std::map<std::string, PosteriorOptimizer>;

}  // namespace facet
