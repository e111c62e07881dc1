// A U-Net: images go down through levels of half the size each and up again, and every level on the
// way up also sees what the way down had there. Large images may enter as patches: the pixels of a
// square are the channels of one place, so that the largest level, which costs most, has a quarter
// of the places for squares of two by two. Residual blocks with group norm, each scaled and
// shifted by a time in [0, 1]; attention between all pixels on the small levels. The last layers of
// blocks and of the network start at zero, so that a new network gives zero.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/image_shape.h"
#include "facet/nets/convolutional.h"
#include "facet/nets/unet_options.h"

namespace facet {

class Unet {
 public:
  /// From `inputs` to `outputs` channels, for images of the height and width of `shape`. Throws an
  /// Error if the options do not make a network.
  Unet(const UnetOptions& options, int64_t inputs, int64_t outputs, const ImageShape& shape,
       const Key& key);

  /// [B, outputs, H, W] for images [B, inputs, H, W] and times [B], float32. It computes in the
  /// type of the images.
  torch::Tensor forward(const torch::Tensor& images, const torch::Tensor& times) const;

  /// "input.weight" to "output.bias", in the order of the layers.
  NamedTensors parameters() const;
  /// As 'custom', with the numbers of the preset.
  const UnetOptions& options() const { return options_; }

 private:
  struct Residual {
    LayerParameters norm1, convolution1, time, norm2, convolution2;
    std::optional<LayerParameters> skip;  ///< where the number of channels changes
  };
  struct Attention {
    LayerParameters norm, heads, output;
  };
  struct Block {
    Residual residual;
    std::optional<Attention> attention;
  };
  struct Level {
    std::vector<Block> down, up;
    std::optional<LayerParameters> shrink;  ///< to the next level; the last has none
    std::optional<LayerParameters> grow;    ///< to the level before; the first has none
  };
  class Builder;

  static torch::Tensor forward(const Residual& block, const torch::Tensor& x,
                               const torch::Tensor& time);
  static torch::Tensor forward(const Attention& block, const torch::Tensor& x);
  static torch::Tensor forward(const Block& block, const torch::Tensor& x,
                               const torch::Tensor& time);
  torch::Tensor time_embedding(const torch::Tensor& times) const;

  UnetOptions options_;
  LayerParameters input_, time1_, time2_;
  std::vector<Level> levels_;
  std::optional<Block> middle1_, middle2_;  ///< always set by the constructor
  LayerParameters output_norm_, output_;
};

}  // namespace facet
