// Batches: which images a step sees, as a pure function of the seed and the step. Every epoch is a
// new random order of all images. No image is left over at the end of an epoch: a batch may
// continue with the first images of the next. Images of a pack in many shards are in random order
// within a few shards at a time, so that only these need to be in the system's cache.
#pragma once

#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/batch_part.h"
#include "facet/data/data_options.h"
#include "facet/data/import.h"
#include "facet/data/pack.h"

namespace facet {

/// The pack of the options, or the built-in portraits if the options have none.
Pack load_data(const DataOptions& options);

/// The images of one or more splits on a device, with the preprocessing that the options ask for.
struct ImageSet {
  ImageRows pixels;      ///< U8 [N, C, H, W] on the device; on the host if streamed
  torch::Tensor labels;  ///< int64 [N, P] on the device
  /// The shard of each image, int64 [N] on the CPU; undefined if the pack has few. The order of
  /// batches follows it wherever the pixels are, so that a run is the same on every device.
  torch::Tensor shards;
  bool binarize_by_draw = false;  ///< binarize an image each time it is drawn
  bool augment = false;           ///< augment images as they are drawn (data/augment.h)
  bool streamed = false;  ///< too large for the device's memory: pixels are copied batch by batch
  bool mirror = false;    ///< swap left and right in half of the images drawn

  int64_t count() const { return pixels.count(); }
  /// The images with indices `chosen`, int64 [B], in the same way.
  ImageSet select(const torch::Tensor& chosen) const;
  /// U8 pixels, on the device, of the images with indices `chosen` (int64): mirrored, augmented and
  /// binarized with `key` as set above.
  torch::Tensor draw(const torch::Tensor& chosen, const Key& key) const;
  /// The second half of draw(), for pixels that are already on the device.
  torch::Tensor transform(const torch::Tensor& chosen_pixels, const Key& key) const;
};

/// The images of some splits. For training, a random label_fraction of the images keep their
/// labels, and images are mirrored if the options say so. With binarize "draw", images for training
/// are binarized each time they are drawn, and images for evaluation once, with binarize_seed.
ImageSet select_images(const Pack& pack, const std::vector<Split>& splits,
                       const DataOptions& options, bool training, torch::Device device,
                       bool streamed = false);

/// Images of at most so many shards are shuffled as if they were in one file. With more, an epoch
/// has the shards in random order, and shuffles the images of every group of so many.
inline constexpr size_t kShardsAtOnce = 8;

class Batches {
 public:
  Batches(ImageSet images, const Key& key, int64_t batch_size);

  int64_t count() const { return images_.count(); }
  /// Pixels of the batch of step `step` = 0, 1, 2, ..., U8 [B, C, H, W].
  torch::Tensor pixels(int64_t step);
  /// Labels of that batch, int64 [B, P], -1 where unknown.
  torch::Tensor labels(int64_t step);
  /// Indices into the image set of that batch, int64 [B] on the CPU.
  torch::Tensor indices(int64_t step);

  /// pixels() in two halves, for steps that never wait for the device. upload() copies a streamed
  /// batch (indices on the CPU) to the device and does nothing for other image sets; draw() then
  /// gives the pixels of a part of it, from the same indices and the step number as tensors on the
  /// device.
  void upload(const torch::Tensor& batch);
  torch::Tensor draw(const torch::Tensor& chosen, const torch::Tensor& step,
                     const BatchPart& part) const;
  /// The same images, strongly augmented.
  torch::Tensor draw_distorted(const torch::Tensor& chosen, const torch::Tensor& step,
                               const BatchPart& part) const;

 private:
  const torch::Tensor& order(int64_t epoch);
  /// The part's pixels as they are.
  torch::Tensor plain(const torch::Tensor& chosen, const BatchPart& part) const;

  ImageSet images_;
  Key key_;
  int64_t batch_size_;
  int64_t epoch_ = -1;
  torch::Tensor order_;
  std::vector<torch::Tensor> by_shard_;  ///< indices of the images in each that has any
  torch::Tensor uploaded_;  ///< the current batch of a streamed set, U8 [B, C, H, W] on the device
};

}  // namespace facet
