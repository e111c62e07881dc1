// The options of an evaluation classifier and its report on a model's samples, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/options.h"

namespace facet {

struct ClassifierOptions {
  int64_t steps = 500;  ///< of training
  int64_t batch_size = 128;
  int64_t channels = 128;       ///< of the last convolution
  double learning_rate = 4e-3;  ///< the peak for 128 channels, after warm-up, before cosine decay
  double weight_decay = 2;
  uint64_t seed = 1;
  int64_t samples = 500;  ///< generated images per value of every named factor
};

struct ClassifierReport {
  /// What it sees in samples that were drawn with every value of a factor.
  struct Samples {
    double agreement = 0;                         ///< mean of agreement_by_value
    std::vector<double> agreement_by_value;       ///< share of the value's samples classified as it
    std::vector<std::vector<int64_t>> confusion;  ///< samples by [intended value][predicted value]
  };
  struct Factor {
    std::string name, property;
    double own_accuracy = 0;  ///< of the classifier on real images with a known label
    /// The same on the model's reconstructions of those images: how much the decoder can show.
    double reconstructed_accuracy = 0;
    std::vector<std::string> values;
    Samples means;                   ///< decoded means of samples
    std::optional<Samples> refined;  ///< the same samples through the refiner
  };
  std::vector<Factor> factors;  ///< the named factors
  double joint_agreement = 0;   ///< share of means in which all named factors are as intended
  std::optional<double> refined_joint_agreement;
  int64_t samples = 0;          ///< per value; the joint share has as many as all values together
  int64_t refine_steps = 0;     ///< of the refiner; 0 without one
  double refine_guidance = 0;   ///< and its strength
  int64_t training_labels = 0;  ///< labelled images that the classifier was trained on
};

/// The object `judge` of `facet eval --judge --json`.
Json to_json(const ClassifierReport& report);

}  // namespace facet
