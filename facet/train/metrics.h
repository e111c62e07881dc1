// The numbers of a metrics line: summed on the device step by step, and read once when the line is
// due.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/objective.h"
#include "facet/train/checkpoint.h"
#include "facet/train/config.h"
#include "facet/train/step_report.h"

namespace facet {

/// One step's numbers, on the device; what a phase does not have is undefined or empty.
struct StepTerms {
  torch::Tensor reconstruction;           ///< [B]
  torch::Tensor gradient_norm;            ///< one number
  std::vector<torch::Tensor> kl_z, kl_r;  ///< [B], one a factor; in pre-training one KL[z]
  std::vector<torch::Tensor> label_log_likelihood;  ///< [B], one a factor
  torch::Tensor labels;                             ///< int64 [B, I]
};

/// Zeros for the sums of a model with so many factors, float64.
torch::Tensor make_sums(size_t factors, torch::Device device);
/// Adds one step to the sums, in place.
void add_step(torch::Tensor& sums, const StepTerms& step, size_t factors);

/// The report of the steps in `progress.sums`, which becomes zero.
StepReport take_report(const TrainOptions& options, Progress& progress, const Vae& model,
                       int64_t images);

}  // namespace facet
