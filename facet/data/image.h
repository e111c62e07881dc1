// One image in memory, laid out as in a pack: planar [C, H, W], 8 bits per value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace facet {

/// The longest side of a picture that is read or drawn; more is taken for a damaged header.
inline constexpr int64_t kLongestImageSide = 16384;

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

/// Refuses what is no image of 1 or 3 channels with a value for each pixel, or is larger than any
/// that is drawn; `doing` opens the message.
void check_image(const Image& image, const std::string& doing);

/// As image libraries lay pixels out, [H, W, C].
std::vector<uint8_t> interleaved(const Image& image);

/// The same picture in 1 or 3 channels: colours become their luma, grey all three colours.
Image with_channels(const Image& image, int64_t channels);

}  // namespace facet
