// The evaluation classifier: it shares nothing with the model, is trained on real labelled images,
// and classifies generated ones. It makes the paper's human evaluation repeatable: sample the model
// with "glasses = with" and count how often the classifier finds glasses. The report also has the
// classifier's accuracy on real images, without which that share means nothing.
#pragma once

#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/eval/classifier_report.h"
#include "facet/model/refiner.h"
#include "facet/model/vae.h"
#include "facet/nets/convolutional.h"

namespace facet {

/// Labels as components of the named factors, matched by the names of values: int64 [N, named
/// factors], -1 if the label is unknown or the factor does not have the value. Throws an Error if
/// no factor is named, or if no image has a label for the property of a named factor.
torch::Tensor named_labels(const FactorialMixture& prior, const ImageSet& images,
                           const std::vector<Property>& properties);

/// A convolutional network with one softmax per property. Its scores are log p(image|value) up to a
/// constant: in training the log frequency of each value is added to its score, so that the scores
/// themselves do not favour frequent values.
class EvaluationClassifier {
 public:
  /// `values` has the number of values per property; `channels` are those of the last convolution.
  EvaluationClassifier(const ImageShape& shape, const std::vector<int64_t>& values, const Key& key,
                       int64_t channels = ClassifierOptions().channels);

  /// Trains on the images with a known label; `labels` is int64 [N, P], -1 where unknown. On the
  /// CPU the result is a function of images, labels and options, bit for bit.
  void train(const ImageSet& images, const torch::Tensor& labels, const ClassifierOptions& options);

  /// The most likely value of every property for U8 images [B, C, H, W], int64 [B, P], if all
  /// values are equally frequent. Values without a label in training are never predicted.
  torch::Tensor classify(const ImageRows& pixels);
  /// The same if values are as frequent as in training.
  torch::Tensor classify_natural(const ImageRows& pixels);

  int64_t training_labels() const { return training_labels_; }
  const Encoder& network() const { return network_; }

 private:
  /// Scores of the values of every property, [B, values] each.
  std::vector<torch::Tensor> scores(const torch::Tensor& x);
  torch::Tensor loss(const torch::Tensor& x, const torch::Tensor& labels);
  torch::Tensor most_likely(const ImageRows& pixels, const std::vector<torch::Tensor>& log_priors);

  std::vector<int64_t> values_;
  Encoder network_;
  std::vector<torch::Tensor> log_frequencies_;  ///< of values in training, [values] per property
  std::vector<torch::Tensor> log_uniform_;      ///< 0 for values in training, [values] per property
  int64_t training_labels_ = 0;
};

/// A classifier for the named factors of a model, trained on images with labels.
EvaluationClassifier train_classifier(const FactorialMixture& prior, const ImageSet& images,
                                      const std::vector<Property>& properties,
                                      const ClassifierOptions& options);

/// Fixes every named factor at each of its values in turn, draws all other factors from the prior,
/// decodes to means and classifies these, and also what the refiner makes of them if there is one.
/// `real` are labelled images that the classifier has not seen; it gets their pixels, while the
/// model gets binarized ones if `real` binarizes by draw.
ClassifierReport classify_samples(EvaluationClassifier& classifier, Vae& model,
                                  const ImageSet& real, const std::vector<Property>& properties,
                                  const ClassifierOptions& options,
                                  const Refinement& refinement = {});

/// Trains a classifier on the training splits of `data`, with all labels or only with those that
/// the model's training saw, and applies it to the model's samples; `split` has the real images.
ClassifierReport classify_model_samples(Vae& model, const Pack& pack, const DataOptions& data,
                                        Split split, bool seen_labels_only,
                                        const ClassifierOptions& options,
                                        const Refinement& refinement = {});

}  // namespace facet
