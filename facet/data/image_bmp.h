// Windows bitmaps, which libvips leaves to ImageMagick. The uncompressed kinds are read here: 1, 4
// and 8 bits by a palette, 16, 24 and 32 bits directly.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "facet/data/image.h"

namespace facet {

struct BmpHeader {
  int height = 0;
  int width = 0;
  bool bottom_up = true;
  int bits = 0;  ///< per pixel
  size_t palette = 0, palette_entry = 4, palette_colours = 0;
  size_t pixels = 0;                ///< where they start
  std::array<uint32_t, 3> masks{};  ///< of red, green and blue, where pixels have no palette
};

/// By the first bytes.
bool is_bmp(std::string_view bytes);

/// Throws DamagedImage for kinds that are not read and for what cannot be.
BmpHeader read_bmp_header(std::string_view bytes);

/// Grey if the palette is, else colours. Transparency, which few programs write, is ignored.
Image read_bmp_pixels(std::string_view bytes, const BmpHeader& header);

}  // namespace facet
