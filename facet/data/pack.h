// A pack: a data set in our one on-disk form, a safetensors file with images U8 [N, C, H, W],
// labels I32 [N, P] (-1 where unknown) and split U8 [N] (0 train, 1 valid, 2 test); names of
// properties and their values are in the metadata.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/image.h"
#include "facet/data/image_shape.h"
#include "facet/data/split.h"

namespace facet {

struct Property {
  std::string name;
  std::vector<std::string> values;
};

/// Pixels made ready for a device, which several runs look at and none changes.
class SharedPixels {
 public:
  /// What `make` gives the first time that `what` is asked for. Threads may ask at the same time.
  torch::Tensor get(const std::string& what, const std::function<torch::Tensor()>& make);

 private:
  std::mutex mutex_;
  std::map<std::string, torch::Tensor> made_;
};

struct Pack {
  torch::Tensor images;  ///< U8 [N, C, H, W]
  torch::Tensor labels;  ///< I32 [N, P], -1 where unknown
  torch::Tensor split;   ///< U8 [N]
  std::vector<Property> properties;
  std::string origin;  ///< one line about where it came from
  /// Where set, image sets made from this pack share their pixels.
  std::shared_ptr<SharedPixels> shared;

  int64_t count() const { return images.size(0); }
  ImageShape shape() const { return {images.size(1), images.size(2), images.size(3)}; }
  /// Indices of the images in any of `splits`, int64, ascending; an Error where there is none.
  torch::Tensor indices(const std::vector<Split>& splits) const;
  /// Throws an Error that names `object` where sizes, splits or labels contradict each other.
  void validate(const std::string& object) const;
};

Pack read_pack(const std::filesystem::path& path);
void write_pack(const std::filesystem::path& path, const Pack& pack);

/// Images of U8 [B, C, H, W] one by one.
std::vector<Image> to_images(const torch::Tensor& pixels);
/// The other way, for images of one shape: U8 [B, C, H, W].
torch::Tensor to_tensor(const std::vector<Image>& images);

}  // namespace facet
