// Files of all kinds to test the reader with, which libvips makes.
#pragma once

#include <stdexcept>
#include <string>
#include <vips/vips.h>

#include "facet/data/image.h"

namespace facet {

/// A picture of libvips, which the caller or one of the functions below frees.
inline VipsImage* vips_picture(const Image& image) {
  if (vips_init("test") != 0) throw std::runtime_error(vips_error_buffer());
  const std::vector<uint8_t> values = interleaved(image);
  VipsImage* copy = vips_image_new_from_memory_copy(
      values.data(), values.size(), static_cast<int>(image.width), static_cast<int>(image.height),
      static_cast<int>(image.channels), VIPS_FORMAT_UCHAR);
  VipsImage* picture = nullptr;
  if (vips_copy(copy, &picture, "interpretation",
                image.channels == 1 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB,
                nullptr) != 0)
    throw std::runtime_error(vips_error_buffer());
  g_object_unref(copy);
  return picture;
}

/// The bytes of a file of the kind that a suffix names, with options: ".tif[compression=lzw]".
/// Takes the picture. Empty where libvips is built without that kind.
inline std::string file_bytes(VipsImage* picture, const char* suffix) {
  void* data = nullptr;
  size_t size = 0;
  const int failed = vips_image_write_to_buffer(picture, suffix, &data, &size, nullptr);
  g_object_unref(picture);
  vips_error_clear();
  if (failed != 0) return "";
  std::string bytes(static_cast<const char*>(data), size);
  g_free(data);
  return bytes;
}

inline std::string file_bytes(const Image& image, const char* suffix) {
  return file_bytes(vips_picture(image), suffix);
}

/// One operation, which takes the picture: changed(vips_rot, picture, VIPS_ANGLE_D90).
template <class Operation, class... Arguments>
VipsImage* changed(Operation operation, VipsImage* picture, Arguments... arguments) {
  VipsImage* result = nullptr;
  if (operation(picture, &result, arguments..., nullptr) != 0)
    throw std::runtime_error(vips_error_buffer());
  g_object_unref(picture);
  return result;
}

}  // namespace facet
