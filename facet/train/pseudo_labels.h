// Pseudo-labels (docs/mathematics.md, "Few labels"): where the model is sure of an unlabelled
// image's value, a strongly augmented view of the image has to get the same value. So a few labels
// spread to images that look alike, and from those to others.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/train/config.h"

namespace facet {

class PseudoLabels {
 public:
  /// `labels` are the known ones, int64 [N, I], -1 where unknown; their frequencies are those that
  /// pseudo-labels are aligned to.
  PseudoLabels(const std::vector<FactorOptions>& factors, const PseudoLabelOptions& options,
               const torch::Tensor& labels);

  /// The mean assignment probabilities of the named factors over some images, float64 [all K].
  /// `factors` has the responsibilities of the images as they are.
  torch::Tensor mean_probabilities(const std::vector<FactorTerms>& factors) const;
  /// Adds those of a batch to the running means, before its values are chosen.
  void observe(const torch::Tensor& mean_probabilities);
  /// The values of a batch or of a part of it, int64 [n, I]: labels where they are known, values of
  /// which the model is sure, and -1 elsewhere.
  torch::Tensor choose(const std::vector<FactorTerms>& factors) const;

  /// What a resumed run needs: the mean assignment probabilities of every named factor.
  NamedTensors tensors() const;

 private:
  /// A named factor's values: how often they occur among the labels and among the predictions, [K].
  struct Frequencies {
    std::string factor;
    torch::Tensor labelled, predicted;
  };

  PseudoLabelOptions options_;
  std::vector<Frequencies> frequencies_;  ///< one per factor; undefined tensors for free ones
};

}  // namespace facet
