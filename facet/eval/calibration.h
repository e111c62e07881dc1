// Calibration: whether images whose value has a probability of 0.9 have that value nine times in
// ten. Networks are too sure of themselves; one number per factor, the temperature, mends most of
// it (Guo et al., 2017). docs/measures.md has the formulas.
#pragma once

#include <vector>

#include "facet/core/tensor.h"

namespace facet {

/// Probabilities at a temperature: the softmax of log p / T, float64 [N, V].
torch::Tensor at_temperature(const torch::Tensor& log_probabilities, double temperature);

/// The temperature with the least cross-entropy of the labels (int64 [N], -1 where unknown), drawn
/// a little towards 1 so that few labels do not decide much. 1 if no label is known.
double fit_temperature(const torch::Tensor& log_probabilities, const torch::Tensor& labels);

/// The predictions of about equal probability.
struct ReliabilityBin {
  double probability = 0;  ///< the mean probability of the predicted value
  double accuracy = 0;     ///< the share of images that have it
  int64_t images = 0;
};
struct Reliability {
  std::vector<ReliabilityBin> bins;  ///< from the lowest probability to the highest
  double error = 0;  ///< expected calibration error: |probability - accuracy|, mean over images
  double accuracy = 0;
  int64_t images = 0;  ///< those with a label
};

/// How reliable the predicted values are on images with labels: bins of equal numbers of images.
Reliability reliability(const torch::Tensor& probabilities, const torch::Tensor& labels);

}  // namespace facet
