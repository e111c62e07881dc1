// Batches: which images a step sees, as a pure function of the seed and the step. Every epoch is a
// new random order of all images, cut into batches without a remainder: a batch may reach over the
// end of one epoch into the next.
#pragma once

#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/data_options.h"
#include "facet/data/import.h"
#include "facet/data/pack.h"

namespace facet {

/// The pack that the options name, or the built-in portraits where they name none.
Pack load_data(const DataOptions& options);

/// Pixels as the model sees them, for a device: U8, binarized once (0 or 255) unless by draw.
struct ImageSet {
  torch::Tensor pixels;  ///< U8 [N, C, H, W] on the device; in the host's memory where streamed
  torch::Tensor labels;  ///< int64 [N, P] on the device
  bool binarize_by_draw = false;
  bool augment = false;   ///< change what is drawn a little (data/augment.h)
  bool streamed = false;  ///< more than the device holds: pixels come to it a batch at a time
  bool mirror = false;    ///< swap left and right in half of what is drawn

  int64_t count() const { return pixels.size(0); }
  /// U8 pixels on the device of chosen images (int64), mirrored, augmented and binarized with
  /// `key` where asked for.
  torch::Tensor draw(const torch::Tensor& chosen, const Key& key) const;
  /// The second half of draw(): what is done to pixels that are on the device.
  torch::Tensor change(const torch::Tensor& chosen_pixels, const Key& key) const;
};

/// The images of some splits. For training all labels but those of a random label_fraction of the
/// images are hidden, and the images are mirrored where asked for. With binarize "draw" those for
/// training are binarized each time they are drawn; those for evaluation once, with binarize_seed.
ImageSet select_images(const Pack& pack, const std::vector<Split>& splits,
                       const DataOptions& options, bool training, torch::Device device,
                       bool streamed = false);

class Batches {
 public:
  Batches(ImageSet images, const Key& key, int64_t batch_size);

  int64_t count() const { return images_.count(); }
  /// U8 [B, C, H, W] of step `step` = 0, 1, 2, ...
  torch::Tensor pixels(int64_t step);
  /// Their labels, int64 [B, P], -1 where unknown.
  torch::Tensor labels(int64_t step);
  /// Indices into the image set of that batch, int64 [B] on the CPU.
  torch::Tensor indices(int64_t step);

  /// pixels() in two halves, for steps that never wait for their device. First, where pixels are
  /// streamed, those of a batch (indices on the CPU) are sent to the device; then the device draws
  /// from `chosen`, the same indices, and from the step's number, both on it.
  void send(const torch::Tensor& batch);
  torch::Tensor drawn(const torch::Tensor& chosen, const torch::Tensor& step) const;

 private:
  const torch::Tensor& order(int64_t epoch);

  ImageSet images_;
  Key key_;
  int64_t batch_size_;
  int64_t epoch_ = -1;
  torch::Tensor order_;
  torch::Tensor sent_;  ///< of a streamed set: the batch on the device, U8 [B, C, H, W]
};

}  // namespace facet
