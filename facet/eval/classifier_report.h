// What an evaluation classifier is trained with, and what it finds in samples, as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/options.h"

namespace facet {

struct ClassifierOptions {
  int64_t steps = 500;  ///< of training
  int64_t batch_size = 128;
  int64_t channels = 128;       ///< of its last convolution
  double learning_rate = 4e-3;  ///< at most, for 128 channels; it rises first and falls to 0
  double weight_decay = 2;
  uint64_t seed = 1;
  int64_t samples = 500;  ///< generated images for every value of every named factor
};

struct ClassifierReport {
  struct Factor {
    std::string name, property;
    double own_accuracy = 0;  ///< of the judge on real images with a known label
    /// The same on the model's reconstructions of those images: what the decoder can show at all.
    double reconstructed_accuracy = 0;
    double agreement = 0;  ///< mean of agreement_by_value
    std::vector<std::string> values;
    std::vector<double> agreement_by_value;       ///< share of samples that the judge takes for it
    std::vector<std::vector<int64_t>> confusion;  ///< samples by [intended value][judged value]
  };
  std::vector<Factor> factors;  ///< the named ones
  double joint_agreement = 0;   ///< share in which all named factors show what was asked for
  int64_t samples = 0;          ///< for every value; for the joint share as many as for all values
  int64_t training_labels = 0;  ///< labelled images that the judge learned from
};

/// The object `judge` of `facet eval --judge --json`.
Json to_json(const ClassifierReport& report);

}  // namespace facet
