// Smooth pictures, which lossy formats keep, and their comparison.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "facet/data/image.h"

namespace facet {

using Bytes = std::vector<uint8_t>;

/// Rises downwards, to the right, and from channel to channel.
inline Image gradient(int64_t channels, int64_t height, int64_t width) {
  Image image = Image::filled(channels, height, width);
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column)
        image.at(channel, row, column) =
            static_cast<uint8_t>(row * 150 / height + column * 50 / width + channel * 20);
  return image;
}

inline void expect_near(const Image& actual, const Image& expected, int tolerance) {
  ASSERT_EQ(actual.channels, expected.channels);
  ASSERT_EQ(actual.height, expected.height);
  ASSERT_EQ(actual.width, expected.width);
  for (size_t i = 0; i < expected.pixels.size(); ++i)
    ASSERT_NEAR(actual.pixels[i], expected.pixels[i], tolerance) << "value " << i;
}

}  // namespace facet
