// The judge: a classifier that shares nothing with the model, is trained on real labelled images,
// and reads off generated ones what they show. It makes the paper's human table repeatable: ask the
// model for "glasses = with", and count how often the judge sees glasses. Beside every such share
// stands the judge's own accuracy on real images, without which the share says nothing.
#pragma once

#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/eval/classifier_report.h"
#include "facet/model/vae.h"
#include "facet/nets/convolutional.h"

namespace facet {

/// Labels of the named factors' properties as numbers of components, matched by the names of
/// values: int64 [N, named factors], -1 where unknown or where the factor has no such value. An
/// Error where no factor is named, or where no image has a label of a factor's property.
torch::Tensor named_labels(const FactorialMixture& prior, const ImageSet& images,
                           const std::vector<Property>& properties);

/// A convolutional network with one softmax a property. It learns log p(image|value) up to a
/// constant: in training the log frequency of a value is added to its score, so that rare values
/// count as much as frequent ones.
class EvaluationClassifier {
 public:
  /// `values` has the number of values of every property; `channels` are of the last convolution.
  EvaluationClassifier(const ImageShape& shape, const std::vector<int64_t>& values, const Key& key,
                       int64_t channels = ClassifierOptions().channels);

  /// Learns from the images with a known label; `labels` is int64 [N, P], -1 where unknown. On the
  /// CPU the result is a function of images, labels and options, bit for bit.
  void train(const ImageSet& images, const torch::Tensor& labels, const ClassifierOptions& options);

  /// The most likely value of every property for U8 images [B, C, H, W] in which all values are
  /// equally frequent, int64 [B, P]. A value without a label in training is never seen.
  torch::Tensor judge(const torch::Tensor& pixels);
  /// The same for images in which values are as frequent as in training.
  torch::Tensor classify_natural(const torch::Tensor& pixels);

  int64_t training_labels() const { return training_labels_; }

 private:
  /// Scores of the values of every property, [B, values] each.
  std::vector<torch::Tensor> scores(const torch::Tensor& x);
  torch::Tensor loss(const torch::Tensor& x, const torch::Tensor& labels);
  torch::Tensor most_likely(const torch::Tensor& pixels,
                            const std::vector<torch::Tensor>& log_priors);

  std::vector<int64_t> values_;
  Encoder network_;
  std::vector<torch::Tensor> log_frequencies_;  ///< of the values of every property, [values]
  std::vector<torch::Tensor> log_even_;         ///< 0 for a value seen in training, [values]
  int64_t training_labels_ = 0;
};

/// A judge for the named factors of a model, trained on images with labels.
EvaluationClassifier train_classifier(const FactorialMixture& prior, const ImageSet& images,
                                      const std::vector<Property>& properties,
                                      const ClassifierOptions& options);

/// Holds every named factor at each of its values in turn, draws all else from the prior, decodes
/// to means, and asks the judge; `real` are images that it has not seen, with labels. The judge
/// sees their pixels; the model, where they are binarized by draw, a draw.
ClassifierReport classify_samples(EvaluationClassifier& judge, Vae& model, const ImageSet& real,
                                  const std::vector<Property>& properties,
                                  const ClassifierOptions& options);

/// A judge that learns from the training splits of `data`, from all labels or from those that
/// training saw alone, and is asked about a model that was trained on them; `split` are the real
/// images.
ClassifierReport classify_model_samples(Vae& model, const Pack& pack, const DataOptions& data,
                                        Split split, bool seen_labels_only,
                                        const ClassifierOptions& options);

}  // namespace facet
