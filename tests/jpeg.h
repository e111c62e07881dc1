// Bytes of JPEG files, for tests that read them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <jpeglib.h>
#include <string>
#include <vector>

namespace facet {

struct JpegKind {
  J_COLOR_SPACE color_space = JCS_RGB;
  bool progressive = false;
  std::vector<jpeg_scan_info> scans;  ///< a custom order of scans; empty: libjpeg's
};

/// A JPEG of quality 98 from interleaved values, [H, W, components].
inline std::string encode_jpeg(const JpegKind& kind, int64_t height, int64_t width,
                               const std::vector<uint8_t>& values) {
  const int components = static_cast<int>(static_cast<int64_t>(values.size()) / height / width);
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = components;
  info.in_color_space = kind.color_space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 98, TRUE);
  if (kind.progressive) jpeg_simple_progression(&info);
  if (!kind.scans.empty()) {
    info.scan_info = kind.scans.data();
    info.num_scans = static_cast<int>(kind.scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(values.data() + info.next_scanline * width * components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string bytes(reinterpret_cast<char*>(buffer), size);
  jpeg_destroy_compress(&info);
  std::free(buffer);
  return bytes;
}

}  // namespace facet
