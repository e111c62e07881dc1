// Training images as a fixed encoder sees them: what phase 2 fits the mixtures to. The encoder
// stands still there, so images are encoded once, and a natural-gradient step takes half a
// millisecond.
#pragma once

#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/model/vae.h"
#include "facet/train/config.h"

namespace facet {

class EncodedImages {
 public:
  /// The images, their labels (int64 [N, I] or undefined) and the model are used, not owned.
  EncodedImages(const Vae& model, const ImageSet& images, const torch::Tensor& labels,
                const InitialiseOptions& options, const Key& key);

  /// The encodings of every factor's block; images are encoded when this is first asked for.
  const std::vector<BlockEncoding>& blocks();
  /// The labels of the encoded images, int64 [n, I]; undefined without named factors.
  const torch::Tensor& labels() const { return labels_; }
  /// Those of one factor; undefined where none is known.
  torch::Tensor known_labels(size_t factor) const;
  /// The encoder has changed: what was encoded is of no use any more.
  void forget();

 private:
  const Vae& model_;
  const ImageSet& images_;
  const torch::Tensor& all_labels_;
  int64_t count_;
  Key key_;
  std::vector<BlockEncoding> blocks_;
  torch::Tensor labels_;
};

/// Gives a model with several factors latent coordinates in which properties come apart
/// (prior/untangle.h). Its encodings and the moments of its optimizer are then of no use any more.
void untangle_factors(Vae& model, EncodedImages& encoded, const Key& key);

/// Places the components of every factor among the encodings: at labels where some are known, else
/// by k-means.
void place_components(Vae& model, EncodedImages& encoded, int64_t images, int64_t kmeans_iterations,
                      const Key& key);

}  // namespace facet
