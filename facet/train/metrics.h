// Collecting the numbers of a metrics line: they are summed on the device at every step and read
// once, when the line is due.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/objective.h"
#include "facet/train/checkpoint.h"
#include "facet/train/config.h"
#include "facet/train/step_report.h"

namespace facet {

/// The terms of one step, on the device; those that a phase does not have are undefined or empty.
struct StepTerms {
  torch::Tensor reconstruction;                     ///< [B]
  torch::Tensor gradient_norm;                      ///< a scalar
  std::vector<torch::Tensor> kl_z, kl_r;            ///< [B] per factor; in pre-training one KL[z]
  std::vector<torch::Tensor> label_log_likelihood;  ///< [B] per factor
  torch::Tensor labels;                             ///< int64 [B, I]
};

/// The terms that have one number per image.
std::vector<torch::Tensor*> image_terms(StepTerms& step);

/// Zeros for the sums of a model with `factors` factors, float64.
torch::Tensor make_sums(size_t factors, torch::Device device);
/// Adds one step to the sums, in place.
void add_step(torch::Tensor& sums, const StepTerms& step, size_t factors);

/// The report of the steps in `progress.sums`, which is reset to zero.
StepReport take_report(const TrainOptions& options, Progress& progress, const Vae& model,
                       int64_t images);

}  // namespace facet
