#include "facet/data/image_bmp.h"

#include <bit>
#include <cstdlib>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "facet/data/image_outline.h"

namespace facet {

namespace {

using PaletteColour = std::array<uint8_t, 3>;

uint32_t number(std::string_view bytes, size_t at, size_t size) {
  if (at + size > bytes.size()) throw DamagedImage{"the file ends too early"};
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << 8 * i;
  return value;
}

bool is_header_size(uint32_t size) {
  return size == 12 || size == 40 || size == 52 || size == 56 || size == 108 || size == 124;
}

std::vector<PaletteColour> read_palette(std::string_view bytes, const BmpHeader& header) {
  std::vector<PaletteColour> palette;
  for (size_t i = 0; i < header.palette_colours; ++i) {
    const uint32_t entry = number(bytes, header.palette + i * header.palette_entry, 3);
    palette.push_back({static_cast<uint8_t>(entry >> 16), static_cast<uint8_t>(entry >> 8),
                       static_cast<uint8_t>(entry)});
  }
  return palette;
}

/// The bits of a mask as 0 to 255.
uint8_t channel(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const uint32_t most = mask >> std::countr_zero(mask);
  const uint64_t value = (pixel & mask) >> std::countr_zero(mask);
  return static_cast<uint8_t>((value * 255 + most / 2) / most);
}

PaletteColour colour_at(std::string_view row, size_t column, const BmpHeader& header,
                        const std::vector<PaletteColour>& palette) {
  const auto bits = static_cast<size_t>(header.bits);
  if (bits <= 8) {
    const auto byte = static_cast<uint8_t>(row[column * bits / 8]);
    const size_t shift = 8 - bits - column * bits % 8;
    const size_t index = byte >> shift & ((1U << bits) - 1);
    if (index >= palette.size()) throw DamagedImage{"a pixel outside the palette"};
    return palette[index];
  }
  const uint32_t pixel = number(row, column * bits / 8, bits / 8);
  return {channel(pixel, header.masks[0]), channel(pixel, header.masks[1]),
          channel(pixel, header.masks[2])};
}

void read_masks(std::string_view bytes, uint32_t compression, BmpHeader& header) {
  if (header.bits == 16) header.masks = {0x7c00, 0x03e0, 0x001f};
  if (header.bits >= 24) header.masks = {0xff0000, 0x00ff00, 0x0000ff};
  const bool has_masks = (compression == 3 || compression == 6) && header.bits != 24;
  for (size_t c = 0; has_masks && c < 3; ++c) header.masks[c] = number(bytes, 54 + 4 * c, 4);
}

}  // namespace

bool is_bmp(std::string_view bytes) {
  return bytes.size() >= 26 && bytes.starts_with("BM") && is_header_size(number(bytes, 14, 4));
}

BmpHeader read_bmp_header(std::string_view bytes) {
  BmpHeader header;
  const uint32_t size = number(bytes, 14, 4);
  const bool is_old = size == 12;
  header.pixels = number(bytes, 10, 4);
  const auto side = [&](size_t old_place, size_t place) -> int64_t {
    if (is_old) return number(bytes, old_place, 2);
    return static_cast<int32_t>(number(bytes, place, 4));
  };
  const int64_t width = side(18, 18), height = side(20, 22);
  if (width < 1 || height == 0 || std::abs(height) > std::numeric_limits<int>::max())
    throw DamagedImage{"a picture without pixels"};
  header.width = static_cast<int>(width);
  header.height = static_cast<int>(std::abs(height));
  header.bottom_up = height > 0;
  header.bits = static_cast<int>(number(bytes, is_old ? 24 : 28, 2));
  const uint32_t compression = is_old ? 0 : number(bytes, 30, 4);
  const bool is_known = header.bits == 1 || header.bits == 4 || header.bits == 8 ||
                        header.bits == 16 || header.bits == 24 || header.bits == 32;
  if (!is_known || (compression != 0 && compression != 3 && compression != 6))
    throw DamagedImage{fmt::format("{} bits per pixel, compression {}, which is not read",
                                   header.bits, compression)};
  read_masks(bytes, compression, header);
  if (header.bits <= 8) {
    const uint32_t used = is_old ? 0 : number(bytes, 46, 4);
    header.palette = 14 + size;
    header.palette_entry = is_old ? 3 : 4;
    header.palette_colours = size_t{1} << header.bits;
    if (used != 0 && used < header.palette_colours) header.palette_colours = used;
  }
  return header;
}

Image read_bmp_pixels(std::string_view bytes, const BmpHeader& header) {
  const std::vector<PaletteColour> palette = read_palette(bytes, header);
  bool is_grey = !palette.empty();
  for (const PaletteColour& colour : palette)
    is_grey = is_grey && colour[0] == colour[1] && colour[1] == colour[2];
  const size_t bits = static_cast<size_t>(header.width) * static_cast<size_t>(header.bits);
  const size_t stride = (bits + 31) / 32 * 4;
  if (header.pixels > bytes.size() ||
      (bytes.size() - header.pixels) / stride < static_cast<size_t>(header.height))
    throw DamagedImage{"the file ends too early"};
  Image image = Image::filled(is_grey ? 1 : 3, header.height, header.width);
  for (int64_t row = 0; row < header.height; ++row) {
    const int64_t stored = header.bottom_up ? header.height - 1 - row : row;
    const std::string_view values =
        bytes.substr(header.pixels + static_cast<size_t>(stored) * stride, stride);
    for (int64_t column = 0; column < header.width; ++column) {
      const PaletteColour colour = colour_at(values, static_cast<size_t>(column), header, palette);
      for (int64_t c = 0; c < image.channels; ++c)
        image.at(c, row, column) = colour[static_cast<size_t>(c)];
    }
  }
  return image;
}

}  // namespace facet
