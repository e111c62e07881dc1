// What a training step costs at least, counted from the layers: floating-point operations of the
// networks and of the prior, bytes that have to come from memory, and the memory that training
// takes. docs/speed.md says how measured times are held against it.
#pragma once

#include "facet/data/image_shape.h"
#include "facet/train/config.h"

namespace facet {

struct Pack;

/// Of one joint step. A multiplication with an addition counts as two operations.
struct StepCost {
  double network_operations = 0;  ///< gradient step and the moved encoder's second look
  double prior_operations = 0;    ///< matrix products of both E-steps, gradient and statistics
  double parameter_bytes = 0;     ///< weights read, gradients written, Adam's state moved
  double pixel_bytes = 0;         ///< the batch's images, a byte a value
  double prior_bytes = 0;         ///< natural parameters read twice and written once

  double operations() const { return network_operations + prior_operations; }
  double bytes() const { return parameter_bytes + pixel_bytes + prior_bytes; }
};

StepCost joint_step_cost(const ModelOptions& model, const ImageShape& shape, int64_t batch);

/// About how many bytes a run takes on its device while it trains: weights with Adam's state,
/// activations of a step, the images, and what libraries set aside. An upper estimate, for
/// deciding how many runs fit.
double training_memory(const Config& config, const Pack& pack);

}  // namespace facet
