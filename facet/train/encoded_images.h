// Encodings of training images, to which phase 2 and the exact updates of phase 3 fit the mixtures.
// In phase 2 the encoder is fixed: images are encoded once, and a natural-gradient step takes half
// a millisecond. Their memory is 16 bytes per image and latent dimension, and at most 4 GB.
#pragma once

#include <vector>

#include "facet/core/random.h"
#include "facet/core/ranks.h"
#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/model/vae.h"
#include "facet/prior/exact_fit.h"
#include "facet/train/config.h"

namespace facet {

class EncodedImages {
 public:
  /// The images, their labels (int64 [N, I] or undefined), the model and the ranks are used, not
  /// owned.
  EncodedImages(const Vae& model, const ImageSet& images, const torch::Tensor& labels,
                const Config& config, const Key& key, Ranks& ranks);

  /// The encodings, one block per factor; in the first call ranks share the work of encoding.
  const std::vector<BlockEncoding>& blocks();
  /// The labels of the encoded images, int64 [n, I]; undefined without named factors.
  const torch::Tensor& labels() const { return labels_; }
  /// The labels of one factor, int64 [n]; undefined if none is known.
  torch::Tensor known_labels(size_t factor) const;
  /// The encodings and known labels of every factor, to stand for all images.
  std::vector<FactorData> data();
  /// Discards the encodings, after the encoder has changed or when they are no longer needed.
  void clear();
  /// Discards them, and chooses other images for the next ones.
  void renew(const Key& key);

 private:
  const Vae& model_;
  const ImageSet& images_;
  const torch::Tensor& all_labels_;
  int64_t count_;
  Key key_;
  Ranks& ranks_;
  std::vector<BlockEncoding> blocks_;
  torch::Tensor labels_;
};

/// Gives a model with several factors latent coordinates that separate properties
/// (prior/untangle.h). Its encodings and the moments of its optimizer are then invalid.
void untangle_factors(Vae& model, EncodedImages& encoded, const Key& key);

/// Initialises the components of every factor from the encodings: from labels if some are known,
/// otherwise by k-means; then `passes` exact updates.
void place_components(Vae& model, EncodedImages& encoded, int64_t images,
                      const InitialiseOptions& options, const Key& key);

}  // namespace facet
