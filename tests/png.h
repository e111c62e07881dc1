// PNG bytes made and read by hand, for tests of what reads and writes them.
#pragma once

#include <cstdint>
#include <png.h>
#include <string>
#include <vector>
#include <zlib.h>

#include "facet/data/image.h"

namespace facet {

struct PngKind {
  int color_type = PNG_COLOR_TYPE_GRAY;
  int bit_depth = 8;
  int interlace = PNG_INTERLACE_NONE;
  std::vector<png_color> palette;
  std::vector<uint8_t> palette_alpha;
};

/// A PNG of any kind from rows as they lie in the file.
inline std::string make_png(const PngKind& kind, int64_t width,
                            std::vector<std::vector<uint8_t>> rows) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp to, png_bytep data, size_t size) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char*>(data), size);
  };
  png_set_write_fn(png, &bytes, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(rows.size()),
               kind.bit_depth, kind.color_type, kind.interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty())
    png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
  if (!kind.palette_alpha.empty())
    png_set_tRNS(png, info, kind.palette_alpha.data(), static_cast<int>(kind.palette_alpha.size()),
                 nullptr);
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (std::vector<uint8_t>& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

inline std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

/// A chunk with its length and checksum.
inline std::string png_chunk(const std::string& type, const std::string& content) {
  const std::string checked = type + content;
  const auto* data = reinterpret_cast<const Bytef*>(checked.data());
  return big_endian(static_cast<uint32_t>(content.size())) + checked +
         big_endian(static_cast<uint32_t>(crc32(0, data, static_cast<uInt>(checked.size()))));
}

/// The picture in a grey or RGB PNG of 8 bits, read without our reader; empty where libpng fails.
inline Image read_plain_png(const std::string& bytes) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&header, bytes.data(), bytes.size()) == 0) return {};
  const bool is_grey = (header.format & PNG_FORMAT_FLAG_COLOR) == 0;
  header.format = is_grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::vector<uint8_t> values(PNG_IMAGE_SIZE(header));
  if (png_image_finish_read(&header, nullptr, values.data(), 0, nullptr) == 0) return {};
  Image image = Image::filled(is_grey ? 1 : 3, header.height, header.width);
  for (int64_t channel = 0; channel < image.channels; ++channel)
    for (int64_t row = 0; row < image.height; ++row)
      for (int64_t column = 0; column < image.width; ++column)
        image.at(channel, row, column) =
            values[static_cast<size_t>((row * image.width + column) * image.channels + channel)];
  return image;
}

}  // namespace facet
