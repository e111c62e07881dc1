// The shape of images as the metadata of model files has it.
#pragma once

#include "facet/core/options.h"
#include "facet/data/image_shape.h"

namespace facet {

struct ShapeOptions {
  /// Numbers of pixels are then far from the end of 64 bits.
  static constexpr double kLongestSide = 1 << 20;

  int64_t channels = 0, height = 0, width = 0;

  ShapeOptions() = default;
  explicit ShapeOptions(const ImageShape& shape)
      : channels(shape.channels), height(shape.height), width(shape.width) {}

  ImageShape shape() const { return {channels, height, width}; }
  void visit(OptionVisitor& visitor) {
    visitor.option("channels", channels, "Number of channels.", between(1, 3));
    visitor.option("height", height, "Height in pixels.", between(1, kLongestSide));
    visitor.option("width", width, "Width in pixels.", between(1, kLongestSide));
  }
};

}  // namespace facet
