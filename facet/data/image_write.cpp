// Pictures out, by libpng and libjpeg directly: whatever reads pictures may be missing, what a run
// has learned can always be shown.
#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <jpeglib.h>
#include <png.h>
#include <vector>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/data/image_file.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

// libjpeg reports errors by a jump that skips destructors. So the function that calls setjmp owns
// nothing: it works on objects of its caller, and returns false after a jump.
class JpegWriter {
 public:
  JpegWriter() {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = on_error;
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;
  ~JpegWriter() {
    jpeg_destroy_compress(&info_);
    std::free(buffer_);
  }

  bool write(const Image& image, std::vector<uint8_t>& values) {
    constexpr int quality = 90;
    if (setjmp(after_error_) != 0) {
      buffer_ = nullptr;  // a buffer that grew is known to the library alone until the end
      return false;
    }
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &buffer_, &size_);
    info_.image_height = static_cast<JDIMENSION>(image.height);
    info_.image_width = static_cast<JDIMENSION>(image.width);
    info_.input_components = static_cast<int>(image.channels);
    info_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    const auto row_bytes = static_cast<size_t>(image.width * image.channels);
    while (info_.next_scanline < info_.image_height) {
      JSAMPROW row = values.data() + info_.next_scanline * row_bytes;
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  std::string bytes() const { return {reinterpret_cast<const char*>(buffer_), size_}; }
  const char* message() const { return message_; }

 private:
  static void on_error(j_common_ptr info) {
    auto* writer = static_cast<JpegWriter*>(info->client_data);
    info->err->format_message(info, writer->message_);
    std::longjmp(writer->after_error_, 1);
  }

  jpeg_compress_struct info_{};
  jpeg_error_mgr errors_{};
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
  std::jmp_buf after_error_;
  char message_[JMSG_LENGTH_MAX] = "";
};

}  // namespace

std::string encode_png(const Image& image) {
  check_image(image, "encoding a PNG");
  std::vector<uint8_t> values = interleaved(image);
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, values.data(), 0, nullptr) == 0)
    throw Error({.doing = "encoding a PNG", .found = header.message, .expected = "no error"});
  bytes.resize(size);
  return bytes;
}

void write_png(const fs::path& path, const Image& image) {
  write_text(path, encode_png(image), "writing a PNG");
}

std::string encode_jpeg(const Image& image) {
  check_image(image, "encoding a JPEG");
  std::vector<uint8_t> values = interleaved(image);
  JpegWriter writer;
  if (!writer.write(image, values))
    throw Error({.doing = "encoding a JPEG", .found = writer.message(), .expected = "no error"});
  return writer.bytes();
}

void write_picture(const fs::path& path, const Image& image) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), ::tolower);
  if (ending == ".jpg" || ending == ".jpeg")
    write_text(path, encode_jpeg(image), "writing a JPEG");
  else
    write_png(path, image);
}

}  // namespace facet
