// The images of a data set by their index. They may lie in several tensors, which are the mapped
// files of a pack in shards, and only some of them may be meant, such as those of one split: in
// both cases images are copied when they are used, never all at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/image_shape.h"

namespace facet {

class ImageRows {
 public:
  ImageRows() = default;
  /// All images of one tensor, U8 [N, C, H, W], on any device. Implicit: one tensor is the usual
  /// case.
  ImageRows(torch::Tensor images) : ImageRows(std::vector<torch::Tensor>{std::move(images)}) {}
  /// All images of several tensors on the CPU, one after the other. They have the same C, H and W.
  explicit ImageRows(std::vector<torch::Tensor> shards);

  int64_t count() const { return chosen_.defined() ? chosen_.size(0) : starts_.back(); }
  ImageShape shape() const;
  int64_t image_bytes() const;
  torch::Device device() const { return shards_.front().device(); }
  size_t shards() const { return shards_.size(); }

  /// The images with indices `chosen`, int64 [B]: without copying them, unless they are on a GPU.
  ImageRows select(const torch::Tensor& chosen) const;

  /// A copy of the images with indices `chosen`, int64 [B], as U8 [B, C, H, W]. Pages of large
  /// mapped files are given back now and then, so that memory does not grow with the images drawn.
  torch::Tensor gather(const torch::Tensor& chosen) const;
  /// The same into a tensor of this shape, for images on the CPU.
  void gather_into(torch::Tensor& result, const torch::Tensor& chosen) const;

  /// `count` images from `begin` on: a view where they follow each other in one tensor, otherwise a
  /// copy.
  torch::Tensor slice(int64_t begin, int64_t count) const;
  torch::Tensor all() const { return slice(0, count()); }
  /// The image at `index`, U8 [C, H, W].
  torch::Tensor operator[](int64_t index) const { return slice(index, 1)[0]; }

  /// Calls `work` with all images in their order, at most `size` at a time, and gives pages of
  /// mapped files back afterwards: memory does not grow with the number of images.
  void for_each_slice(int64_t size, const std::function<void(const torch::Tensor&)>& work) const;

  /// Gives the pages of mapped files with these images back to the system (core/file.h).
  void release(int64_t begin, int64_t count) const;
  void release() const { release(0, count()); }

  /// The number of the tensor that each image is in, int64 [N].
  torch::Tensor shard_numbers() const;

 private:
  /// Where an image lies: the tensor and the row in it.
  struct Place {
    size_t shard;
    int64_t row;
  };
  Place place_of(int64_t source) const;
  int64_t source(int64_t index) const;
  void gather_sources(torch::Tensor& result, const torch::Tensor& sources) const;
  void release_gathered(int64_t images) const;
  bool plain() const { return shards_.size() == 1 && !chosen_.defined(); }

  std::vector<torch::Tensor> shards_;
  std::vector<int64_t> starts_ = {0};  ///< of each tensor among all images, and their number
  torch::Tensor chosen_;               ///< int64 [N] on the CPU; undefined: all
  /// Images gathered since pages were given back; null where all images may stay in memory.
  std::shared_ptr<std::atomic<int64_t>> gathered_;
};

}  // namespace facet
