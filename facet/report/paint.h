// Colours, and how one is laid over the pixels of a picture: all that text and charts draw with.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "facet/data/image.h"

namespace facet {

struct Color {
  uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Color&) const = default;
};

/// Of text.
inline constexpr Color kInk = {34, 34, 34};

/// Lays a colour over a pixel; opacity 1 hides what was there. Outside of the image it does
/// nothing; a grey image takes the colour's red.
inline void blend(Image& image, int64_t row, int64_t column, Color color, double opacity) {
  if (row < 0 || row >= image.height || column < 0 || column >= image.width) return;
  const std::array<uint8_t, 3> channels = {color.red, color.green, color.blue};
  for (int64_t channel = 0; channel < image.channels; ++channel) {
    uint8_t& value = image.at(channel, row, column);
    value = static_cast<uint8_t>(
        std::lround(value + opacity * (channels[static_cast<size_t>(channel)] - value)));
  }
}

}  // namespace facet
