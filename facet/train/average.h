// A running mean of the weights and of the prior over the last steps of training. Steps of a finite
// learning rate wander around the optimum; their mean lies nearer to it, and is what an evaluation
// sees and what the model file holds. The prior's natural parameters are averaged too, which is
// allowed because any mean of posteriors' natural parameters is a posterior's.
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
  /// Steps between updates: so close that nobody sees the difference, so far that nobody pays.
  static constexpr int64_t stride = 8;

  /// A mean in which a step's weights count `decay` times as much after another step. The optimizer
  /// and the prior, which may be null and is then not averaged, are used, not owned, and their
  /// tensors must stay where they are.
  WeightAverage(Adam& adam, FactorialMixture* prior, double decay);

  /// After step `step` of the joint phase, counted from 0: the first starts the mean, every
  /// `stride`-th updates it.
  void after_step(int64_t step);
  /// Begins anew with what there is now.
  void start();
  /// After `stride` more steps.
  void update();
  /// Exchanges the model's numbers for the means, or back.
  void swap();

  /// For checkpoints.
  void store(TensorFile& file) const;
  void restore(const TensorFile& file, const std::string& object);

 private:
  Adam& adam_;
  double share_;  ///< of the present numbers in an update
  std::vector<torch::Tensor> live_, means_;
};

}  // namespace facet
