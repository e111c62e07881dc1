// An exponential moving average of the weights and of the prior during joint training. With a
// finite learning rate the parameters fluctuate around the optimum; their average is closer to it,
// and evaluations and the model file use it. The prior is averaged in its natural parameters: the
// mean of valid natural parameters is valid too.
#pragma once

#include <string>
#include <vector>

#include "facet/core/safetensors.h"
#include "facet/core/tensor.h"
#include "facet/nets/adam.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

class WeightAverage {
 public:
  /// Steps between updates: few enough to make no difference, many enough to cost no time.
  static constexpr int64_t stride = 8;

  /// `decay` is the factor by which the weight of a step shrinks with every further step. The
  /// optimizer and the prior are used, not owned, and their tensors must not be reallocated; a null
  /// prior is not averaged.
  WeightAverage(Adam& adam, FactorialMixture* prior, double decay);

  /// Call after step `step` of the joint phase, counted from 0: the first starts the average, every
  /// `stride`-th updates it.
  void after_step(int64_t step);
  /// Starts the average at the current values.
  void start();
  /// Starts the average of the prior alone, after its components have changed places.
  void start_prior();
  /// Updates the average, `stride` steps after the last update.
  void update();
  /// Swaps the model's values with the averages.
  void swap();

  /// For checkpoints.
  void store(TensorFile& file) const;
  void restore(const TensorFile& file, const std::string& object);

 private:
  Adam& adam_;
  double share_;  ///< weight of the current values in an update
  std::vector<torch::Tensor> live_, means_;
};

}  // namespace facet
