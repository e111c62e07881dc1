// One image in memory, laid out as in a pack: planar [C, H, W], 8 bits per value.
#pragma once

#include <cstdint>
#include <vector>

namespace facet {

struct Image {
  int64_t channels = 0;  ///< 1 (grey) or 3 (red, green, blue)
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels;  ///< [C, H, W]

  static Image filled(int64_t channels, int64_t height, int64_t width, uint8_t value = 0) {
    return {channels, height, width,
            std::vector<uint8_t>(static_cast<size_t>(channels * height * width), value)};
  }
  uint8_t& at(int64_t channel, int64_t row, int64_t column) {
    return pixels[static_cast<size_t>((channel * height + row) * width + column)];
  }
  uint8_t at(int64_t channel, int64_t row, int64_t column) const {
    return pixels[static_cast<size_t>((channel * height + row) * width + column)];
  }
};

}  // namespace facet
