#include "facet/data/image_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <jpeglib.h>
#include <png.h>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReading = "reading an image";

// Compression has limits. A header that promises more than they allow is damaged, and is found out
// before memory is taken for it.
constexpr int64_t kMostInflation = 1032;   // deflate: unpacked bytes for one packed byte
constexpr int64_t kMostJpegPixels = 2048;  // for one byte: four times one bit for a block of 64

/// As image libraries lay pixels out, and possibly with alpha.
struct Interleaved {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;         ///< 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::vector<uint8_t> values;  ///< [H, W, C]

  uint8_t* row(int64_t index) { return values.data() + index * width * channels; }
};

Interleaved blank(int64_t height, int64_t width, int64_t channels) {
  return {height, width, channels,
          std::vector<uint8_t>(static_cast<size_t>(height * width * channels))};
}

[[noreturn]] void fail(const fs::path& path, std::string found, std::string expected,
                       std::string cause) {
  throw Error({.doing = kReading,
               .object = path.string(),
               .found = std::move(found),
               .expected = std::move(expected),
               .cause = std::move(cause)});
}

[[noreturn]] void fail_damaged(const fs::path& path, const char* kind, const char* message) {
  fail(path, fmt::format("damage ({})", message), fmt::format("a whole {} file", kind),
       "was the file cut short?");
}

/// `possible`: whether as many bytes as there are can hold so many pixels.
void check_size(const fs::path& path, int64_t height, int64_t width, bool possible,
                const ImageLimits& limits) {
  if (std::min(height, width) < 1 || std::max(height, width) > kLongestImageSide)
    fail(path, fmt::format("{} x {} pixels", height, width),
         fmt::format("1 to {} a side", kLongestImageSide), "is the file damaged?");
  if (height * width > limits.pixels)
    fail(path, fmt::format("{} x {} pixels", height, width),
         fmt::format("at most {} in all", limits.pixels), "make it smaller first");
  if (!possible)
    fail(path, fmt::format("a header that promises {} x {} pixels", height, width),
         "no more than the rest of the file can hold", "is the file damaged or cut short?");
}

/// Planar, with alpha laid on white.
Image to_image(const Interleaved& from) {
  const bool has_alpha = from.channels % 2 == 0;
  const int64_t channels = from.channels - (has_alpha ? 1 : 0);
  const int64_t pixels = from.height * from.width;
  Image image = Image::filled(channels, from.height, from.width);
  for (int64_t i = 0; i < pixels; ++i) {
    const uint8_t* source = from.values.data() + i * from.channels;
    const int alpha = has_alpha ? source[channels] : 255;
    for (int64_t channel = 0; channel < channels; ++channel) {
      const int value = (source[channel] * alpha + 255 * (255 - alpha) + 127) / 255;
      image.pixels[static_cast<size_t>(channel * pixels + i)] = static_cast<uint8_t>(value);
    }
  }
  return image;
}

// Both libraries report errors by a jump that skips destructors. So the functions that call
// setjmp own nothing: they work on objects of their caller, and return false after a jump.

class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : bytes_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Everything before the pixels.
  bool read_header() {
    if (png_ == nullptr || info_ == nullptr) return false;
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, on_read);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    // Color profiles and comments are skipped: real files have slips there that do no harm. With
    // them out of the way all that libpng would forgive is damage to the picture itself.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_benign_errors(png_, 0);
    png_read_info(png_, info_);
    return true;
  }

  /// Sets up the way to 8 bits of grey or RGB, with or without alpha.
  bool prepare() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);
    png_set_scale_16(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  /// The pixels, and all that follows up to the end mark.
  bool read_rows(Interleaved& to) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass)
      for (int64_t row = 0; row < to.height; ++row) png_read_row(png_, to.row(row), nullptr);
    png_read_end(png_, nullptr);
    return true;
  }

  int64_t height() const { return png_get_image_height(png_, info_); }
  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t channels() const { return png_get_channels(png_, info_); }
  int64_t row_bytes() const { return static_cast<int64_t>(png_get_rowbytes(png_, info_)); }
  const char* message() const { return message_; }

 private:
  static void on_read(png_structp png, png_bytep to, size_t count) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > reader->bytes_.size()) png_error(png, "the file ends too early");
    std::memcpy(to, reader->bytes_.data(), count);
    reader->bytes_.remove_prefix(count);
  }

  static void on_error(png_structp png, png_const_charp message) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(reader->message_, sizeof reader->message_, "%s", message);
    png_longjmp(png, 1);
  }

  static void on_warning(png_structp, png_const_charp) {}

  std::string_view bytes_;  // what is left to read
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  char message_[200] = "out of memory";
};

Image read_png(const fs::path& path, std::string_view bytes, const ImageLimits& limits) {
  PngReader reader(bytes);
  if (!reader.read_header()) fail_damaged(path, "PNG", reader.message());
  const int64_t capacity = static_cast<int64_t>(bytes.size()) * kMostInflation;
  check_size(path, reader.height(), reader.width(),
             reader.row_bytes() * reader.height() <= capacity, limits);
  if (!reader.prepare()) fail_damaged(path, "PNG", reader.message());
  Interleaved pixels = blank(reader.height(), reader.width(), reader.channels());
  if (!reader.read_rows(pixels)) fail_damaged(path, "PNG", reader.message());
  return to_image(pixels);
}

class JpegReader {
 public:
  JpegReader(std::string_view bytes, int most_scans) : bytes_(bytes), most_scans_(most_scans) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    progress_.progress_monitor = on_progress;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info_); }

  bool read_header() {
    if (setjmp(after_error_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  /// The pixels, and all that follows up to the end mark.
  bool read_rows(Interleaved& to) {
    if (setjmp(after_error_) != 0) return false;
    info_.out_color_space = is_grey() ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = to.row(info_.output_scanline);
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  int64_t height() const { return info_.image_height; }
  int64_t width() const { return info_.image_width; }
  bool is_grey() const { return info_.jpeg_color_space == JCS_GRAYSCALE; }
  bool is_color() const {
    return info_.jpeg_color_space == JCS_YCbCr || info_.jpeg_color_space == JCS_RGB;
  }
  int inks() const { return info_.num_components; }
  const char* message() const { return message_; }

 private:
  static void on_error(j_common_ptr info) {
    auto* reader = static_cast<JpegReader*>(info->client_data);
    info->err->format_message(info, reader->message_);
    std::longjmp(reader->after_error_, 1);
  }

  /// Below zero are warnings, such as a premature end, after which the library makes pixels up.
  static void on_message(j_common_ptr info, int level) {
    if (level < 0) on_error(info);
  }

  static void on_progress(j_common_ptr info) {
    auto* reader = static_cast<JpegReader*>(info->client_data);
    if (reader->info_.input_scan_number <= reader->most_scans_) return;
    std::snprintf(reader->message_, sizeof reader->message_, "more than %d scans",
                  reader->most_scans_);
    std::longjmp(reader->after_error_, 1);
  }

  std::string_view bytes_;
  int most_scans_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf after_error_;
  char message_[JMSG_LENGTH_MAX] = "";
};

Image read_jpeg(const fs::path& path, std::string_view bytes, const ImageLimits& limits) {
  JpegReader reader(bytes, limits.jpeg_scans);
  if (!reader.read_header()) fail_damaged(path, "JPEG", reader.message());
  check_size(
      path, reader.height(), reader.width(),
      reader.height() * reader.width() <= static_cast<int64_t>(bytes.size()) * kMostJpegPixels,
      limits);
  if (!reader.is_grey() && !reader.is_color())
    fail(path,
         fmt::format("a JPEG of {} inks{}", reader.inks(), reader.inks() == 4 ? " (CMYK)" : ""),
         "grey or RGB", "convert it to RGB first");
  Interleaved pixels = blank(reader.height(), reader.width(), reader.is_grey() ? 1 : 3);
  if (!reader.read_rows(pixels)) fail_damaged(path, "JPEG", reader.message());
  return to_image(pixels);
}

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
       .expected = fmt::format("1 or 3 channels of 1 to {} pixels a side, and a value for each",
                               kLongestImageSide)});
}

/// Which pixels of one line make one pixel of the resized line.
struct Blend {
  int64_t first = 0;
  std::vector<float> weights;  ///< of pixels first, first + 1, ...; their sum is 1
};

/// For a pixel of the target that covers [begin, begin + step) of the source.
Blend area_blend(double begin, double step, int64_t size) {
  Blend blend;
  blend.first = std::clamp<int64_t>(static_cast<int64_t>(std::floor(begin)), 0, size - 1);
  const int64_t last =
      std::clamp<int64_t>(static_cast<int64_t>(std::ceil(begin + step)) - 1, blend.first, size - 1);
  for (int64_t i = blend.first; i <= last; ++i) {
    const double from = std::max(begin, static_cast<double>(i));
    const double to = std::min(begin + step, static_cast<double>(i + 1));
    blend.weights.push_back(static_cast<float>(std::max(0.0, to - from) / step));
  }
  return blend;
}

/// The two pixels around `center`, which is measured from the center of pixel 0.
Blend linear_blend(double center, int64_t size) {
  center = std::clamp(center, 0.0, static_cast<double>(size - 1));
  Blend blend;
  blend.first = std::min(static_cast<int64_t>(center), std::max<int64_t>(size - 2, 0));
  const float fraction = static_cast<float>(center - static_cast<double>(blend.first));
  blend.weights = {1 - fraction};
  if (fraction > 0) blend.weights.push_back(fraction);
  return blend;
}

/// Blends for a line of `size` pixels of which the central `window` is brought to `target` pixels.
std::vector<Blend> blends(int64_t size, double window, int64_t target) {
  const double start = (static_cast<double>(size) - window) / 2;
  const double step = window / static_cast<double>(target);
  std::vector<Blend> result;
  for (int64_t i = 0; i < target; ++i) {
    const double begin = start + static_cast<double>(i) * step;
    result.push_back(step >= 1 ? area_blend(begin, step, size)
                               : linear_blend(begin + step / 2 - 0.5, size));
  }
  return result;
}

/// One pixel of the resized line, from a line whose pixels lie `stride` apart.
template <typename Value>
float blended(const Blend& blend, const Value* line, int64_t stride) {
  float sum = 0;
  const Value* next = line + blend.first * stride;
  for (const float weight : blend.weights) {
    sum += weight * static_cast<float>(*next);
    next += stride;
  }
  return sum;
}

}  // namespace

Image read_image(const fs::path& path) { return decode_image(read_text(path, kReading), path); }

Image decode_image(std::string_view bytes, const fs::path& name, const ImageLimits& limits) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return read_png(name, bytes, limits);
  if (bytes.starts_with("\xff\xd8\xff")) return read_jpeg(name, bytes, limits);
  fail(name, bytes.empty() ? "an empty file" : "a file of another kind", "a PNG or JPEG file",
       "other formats are to be converted first");
}

namespace {

/// [H, W, C] of planes [C, H, W].
std::vector<uint8_t> interleave(const Image& image) {
  std::vector<uint8_t> interleaved(image.pixels.size());
  const int64_t plane = image.height * image.width;
  for (int64_t channel = 0; channel < image.channels; ++channel)
    for (int64_t i = 0; i < plane; ++i)
      interleaved[static_cast<size_t>(i * image.channels + channel)] =
          image.pixels[static_cast<size_t>(channel * plane + i)];
  return interleaved;
}

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

  bool write(const Image& image, std::vector<uint8_t>& interleaved) {
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
      JSAMPROW row = interleaved.data() + info_.next_scanline * row_bytes;
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
  std::vector<uint8_t> interleaved = interleave(image);
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, interleaved.data(), 0, nullptr) ==
      0)
    throw Error({.doing = "encoding a PNG", .found = header.message, .expected = "no error"});
  bytes.resize(size);
  return bytes;
}

void write_png(const fs::path& path, const Image& image) {
  write_text(path, encode_png(image), "writing a PNG");
}

std::string encode_jpeg(const Image& image) {
  check_image(image, "encoding a JPEG");
  std::vector<uint8_t> interleaved = interleave(image);
  JpegWriter writer;
  if (!writer.write(image, interleaved))
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

Image resize(const Image& image, int64_t height, int64_t width) {
  check_image(image, "resizing an image");
  if (std::min(height, width) < 1 || std::max(height, width) > kLongestImageSide)
    throw Error({.doing = "resizing an image",
                 .found = fmt::format("a target of {} x {} pixels", height, width),
                 .expected = fmt::format("1 to {} a side", kLongestImageSide)});

  const double scale = std::min(static_cast<double>(image.height) / static_cast<double>(height),
                                static_cast<double>(image.width) / static_cast<double>(width));
  const auto down = blends(image.height, scale * static_cast<double>(height), height);
  const auto across = blends(image.width, scale * static_cast<double>(width), width);

  Image result = Image::filled(image.channels, height, width);
  std::vector<float> narrow(static_cast<size_t>(image.height * width));  // one channel, [H, width]
  for (int64_t channel = 0; channel < image.channels; ++channel) {
    const uint8_t* plane = image.pixels.data() + channel * image.height * image.width;
    for (int64_t row = 0; row < image.height; ++row)
      for (int64_t column = 0; column < width; ++column)
        narrow[static_cast<size_t>(row * width + column)] =
            blended(across[static_cast<size_t>(column)], plane + row * image.width, 1);
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column) {
        const float value = blended(down[static_cast<size_t>(row)], narrow.data() + column, width);
        result.at(channel, row, column) =
            static_cast<uint8_t>(std::clamp(std::lround(value), 0l, 255l));
      }
  }
  return result;
}

}  // namespace facet
