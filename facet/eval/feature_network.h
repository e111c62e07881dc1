// A network whose features compare samples with images (eval/fidelity.h), trained without labels:
// two distorted views of one image are to be more alike than views of two images (SimCLR's loss).
// The views are never blurred, so that it tells sharp images from blurred ones.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/nets/convolutional.h"

namespace facet {

struct FeatureOptions {
  int64_t steps = 1000;
  int64_t batch_size = 256;
  double learning_rate = 1e-3;  ///< at the start; falls to zero along a cosine
  double temperature = 0.2;
  uint64_t seed = 1;
};

class FeatureNetwork {
 public:
  FeatureNetwork(const ImageShape& shape, const Key& key);

  /// Trains on images without their labels. On the CPU the result is a function of images and
  /// options, bit for bit.
  void train(const ImageSet& images, const FeatureOptions& options);

  /// Features of U8 images, float64 [N, F] on the network's device: the mean over pixels of every
  /// layer.
  torch::Tensor features(const ImageRows& pixels) const;

  NamedTensors parameters() const { return network_.parameters(); }
  void move_to(torch::Device device);

 private:
  Encoder network_;
};

/// SimCLR's loss of B pairs of views, [B, F] each: the cross-entropy of finding an image's other
/// view among all views by cosine similarity over `temperature`.
torch::Tensor contrastive_loss(const torch::Tensor& one, const torch::Tensor& other,
                               double temperature);

/// Layer means of a network for U8 images, float64 [N, F]. For evaluation classifiers too.
torch::Tensor layer_features(const Encoder& network, const ImageRows& pixels);

/// The network in a file if it was trained on the same data (their fingerprint), otherwise a new
/// one that is trained and written there; `training` is called before it is.
FeatureNetwork cached_feature_network(const std::filesystem::path& path, const ImageSet& images,
                                      const std::string& data, torch::Device device,
                                      const FeatureOptions& options,
                                      const std::function<void()>& training);

}  // namespace facet
