// Lower bounds on the cost of a training step, counted from the layers: floating-point operations
// of the networks and of the prior, and bytes read from and written to memory; and an estimate of
// the memory that training needs. docs/speed.md compares measured times with them.
#pragma once

#include "facet/core/tensor.h"
#include "facet/data/image_shape.h"
#include "facet/train/config.h"

namespace facet {

struct Pack;

/// The cost of one joint step. A multiply-add counts as two operations.
struct StepCost {
  double network_operations = 0;  ///< gradient step, and the encoder again after its update
  double prior_operations = 0;    ///< matrix products of both E-steps, gradient and statistics
  double parameter_bytes = 0;     ///< weights read, gradients written, Adam's state updated
  double pixel_bytes = 0;         ///< the batch's images, one byte per value
  double prior_bytes = 0;         ///< natural parameters read twice and written once

  double operations() const { return network_operations + prior_operations; }
  double bytes() const { return parameter_bytes + pixel_bytes + prior_bytes; }
};

StepCost joint_step_cost(const ModelOptions& model, const ImageShape& shape, int64_t batch);

/// An upper estimate of the bytes that a run needs on its device: weights with Adam's state, the
/// activations of a step, the images, and the workspaces of libraries. It decides how many runs
/// fit. Images of a file stay mapped on the CPU and need no memory, unless they are binarized once.
double training_memory(const Config& config, const Pack& pack, torch::Device device);

/// Throws an Error if the device has not so much memory. Called before anything is allocated.
void require_memory(const Config& config, const Pack& pack, torch::Device device);

}  // namespace facet
