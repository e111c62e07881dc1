#include "facet/data/image.h"

#include <fmt/format.h>

#include "facet/core/error.h"

namespace facet {

void check_image(const Image& image, const std::string& doing) {
  const bool shaped = (image.channels == 1 || image.channels == 3) && image.height >= 1 &&
                      image.width >= 1 && image.height <= kLongestImageSide &&
                      image.width <= kLongestImageSide;
  const int64_t values = static_cast<int64_t>(image.pixels.size());
  if (shaped && image.channels * image.height * image.width == values) return;
  throw Error(
      {.doing = doing,
       .found = fmt::format("{} values for {} x {} x {}", values, image.channels, image.height,
                            image.width),
       .expected = fmt::format("1 or 3 channels of 1 to {} pixels per side, and a value for each",
                               kLongestImageSide)});
}

std::vector<uint8_t> interleaved(const Image& image) {
  std::vector<uint8_t> values(image.pixels.size());
  const int64_t plane = image.height * image.width;
  for (int64_t channel = 0; channel < image.channels; ++channel)
    for (int64_t i = 0; i < plane; ++i)
      values[static_cast<size_t>(i * image.channels + channel)] =
          image.pixels[static_cast<size_t>(channel * plane + i)];
  return values;
}

Image with_channels(const Image& image, int64_t channels) {
  if (image.channels == channels) return image;
  Image result = Image::filled(channels, image.height, image.width);
  const auto plane = static_cast<size_t>(image.height * image.width);
  for (size_t i = 0; i < plane; ++i) {
    if (channels == 1)  // ITU-R BT.601 luma
      result.pixels[i] =
          static_cast<uint8_t>((299 * image.pixels[i] + 587 * image.pixels[plane + i] +
                                114 * image.pixels[2 * plane + i] + 500) /
                               1000);
    else
      for (size_t c = 0; c < 3; ++c) result.pixels[c * plane + i] = image.pixels[i];
  }
  return result;
}

}  // namespace facet
