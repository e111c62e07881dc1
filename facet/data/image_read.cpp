// Pictures in, through libvips. Formats are told apart here and each has its one loader, so that no
// file reaches a loader that runs code or opens other files (SVG, PDF, ImageMagick). libvips is
// lazy: a chain of operations is set up on the header, and pixels flow through it in strips.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>
// The second needs what the first declares.
// clang-format off
#include <vips/vips.h>
#include <vips/vector.h>
// clang-format on

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/data/image_bmp.h"
#include "facet/data/image_file.h"
#include "facet/data/image_outline.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReading = "reading an image";
constexpr const char* kResizing = "resizing an image";

struct Size {
  int height = 0;
  int width = 0;

  bool operator==(const Size&) const = default;
};

/// The size that a picture is brought to, and how.
struct Target {
  Size size;
  Fit fit;
};

/// What libvips and the libraries below it complain about in this thread while the object lives.
/// They go on after a warning, with pixels of their own making. But a header is read twice, when a
/// file is opened and before its pixels; what is said the second time alone is about pixels, and
/// taken for damage. The rest are strange tags and profiles, which real files are full of.
class Complaints {
 public:
  Complaints() { current = this; }
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;
  ~Complaints() { current = nullptr; }

  /// From here on until the last picture is closed.
  void pixels_begin() { in_pixels_ = true; }

  void throw_any() const {
    if (!about_pixels_.empty()) throw DamagedImage{about_pixels_};
  }

  /// Takes the place of printing, which a library does not do.
  static void on_log(const gchar*, GLogLevelFlags level, const gchar* message, gpointer) {
    const bool is_warning = (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING)) != 0;
    if (is_warning && current != nullptr && message != nullptr) current->add(message);
  }

 private:
  void add(const char* message) {
    if (!in_pixels_)
      about_header_.insert(message);
    else if (about_pixels_.empty() && about_header_.count(message) == 0)
      about_pixels_ = message;
  }

  static thread_local Complaints* current;
  bool in_pixels_ = false;
  std::set<std::string> about_header_;
  std::string about_pixels_;
};

thread_local Complaints* Complaints::current = nullptr;

/// What libvips has to say about an operation that failed, in one line. Its buffer is shared by all
/// threads: a message may be missing, or be another's.
std::string last_vips_message() {
  char* copy = vips_error_buffer_copy();
  std::string message = copy == nullptr ? "" : copy;
  g_free(copy);
  while (!message.empty() && message.back() == '\n') message.pop_back();
  std::replace(message.begin(), message.end(), '\n', ';');
  return message.empty() ? "no reason given" : message;
}

/// The reason why libvips cannot be used; empty where it can.
std::string start_vips() {
  g_log_set_handler("VIPS", G_LOG_LEVEL_MASK, Complaints::on_log, nullptr);
  if (vips_init("facet") != 0) return last_vips_message();
  vips_block_untrusted_set(TRUE);
  vips_cache_set_max(0);    // a file is read once, and to be closed when it has been
  vips_concurrency_set(1);  // a file is one thread's work: many are read side by side
  // Its compiler of vector code, liborc, frees code of one thread while another makes some: among
  // tens of thousands of pictures that are resized, one is a segmentation fault.
  vips_vector_set_enabled(FALSE);
  return "";
}

void require_vips(const char* doing) {
  static const std::string fault = start_vips();
  if (!fault.empty())
    throw Error({.doing = doing,
                 .found = fmt::format("a libvips that does not start ({})", fault),
                 .expected = "one that works",
                 .cause = "is it installed whole?"});
  struct ThreadEnd {
    ~ThreadEnd() { vips_thread_shutdown(); }  // memory that libvips keeps for a thread
  };
  thread_local const ThreadEnd at_end;
}

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};
using Picture = std::unique_ptr<VipsImage, Unref>;

Picture shared(const Picture& picture) {
  return Picture(static_cast<VipsImage*>(g_object_ref(picture.get())));
}
Size size_of(const Picture& picture) {
  return {vips_image_get_height(picture.get()), vips_image_get_width(picture.get())};
}
int channels_of(const Picture& picture) { return vips_image_get_bands(picture.get()); }

/// An operation of libvips as a function: run(vips_resize, in, scale, "vscale", vertical_scale).
template <class Operation, class... Arguments>
Picture run(Operation operation, const Picture& in, Arguments... arguments) {
  VipsImage* out = nullptr;
  if (operation(in.get(), &out, arguments..., nullptr) != 0)
    throw DamagedImage{last_vips_message()};
  return Picture(out);
}

enum class Shrinking { none, by_number, by_scale };

/// A format that is read, and the only loader that sees such files.
struct Format {
  const char* name;
  int (*load)(void*, size_t, VipsImage**, ...);
  VipsFailOn fail_on;                     ///< warnings, where none is about a strange tag
  Shrinking shrinking = Shrinking::none;  ///< whether the loader can make a smaller picture
};

constexpr Format kPng{"PNG", vips_pngload_buffer, VIPS_FAIL_ON_ERROR};
constexpr Format kJpeg{"JPEG", vips_jpegload_buffer, VIPS_FAIL_ON_WARNING, Shrinking::by_number};
constexpr Format kWebp{"WebP", vips_webpload_buffer, VIPS_FAIL_ON_ERROR, Shrinking::by_scale};
constexpr Format kTiff{"TIFF", vips_tiffload_buffer, VIPS_FAIL_ON_ERROR};
constexpr Format kGif{"GIF", vips_gifload_buffer, VIPS_FAIL_ON_WARNING};
constexpr Format kHeic{"HEIC", vips_heifload_buffer, VIPS_FAIL_ON_ERROR};

/// By the first bytes, as image libraries do.
const Format* format_of(std::string_view bytes) {
  using namespace std::string_view_literals;
  const auto is_one_of = [&](size_t position, auto... beginnings) {
    const std::string_view rest = bytes.substr(std::min(position, bytes.size()));
    return (rest.starts_with(beginnings) || ...);
  };
  if (is_one_of(0, "\x89PNG\r\n\x1a\n"sv)) return &kPng;
  if (is_one_of(0, "\xff\xd8\xff"sv)) return &kJpeg;
  if (is_one_of(0, "RIFF"sv) && is_one_of(8, "WEBP"sv)) return &kWebp;
  if (is_one_of(0, "II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv)) return &kTiff;
  if (is_one_of(0, "GIF87a"sv, "GIF89a"sv)) return &kGif;
  if (is_one_of(4, "ftyp"sv) && is_one_of(8, "heic"sv, "heix"sv, "heim"sv, "heis"sv, "hevc"sv,
                                          "hevm"sv, "hevs"sv, "mif1"sv, "msf1"sv))
    return &kHeic;
  return nullptr;
}

/// `shrink`: by how much the picture may come smaller, where the loader can do that. A factor of
/// two is left to the filter, which does it better.
Picture load(const Format& format, std::string_view bytes, double shrink) {
  VipsImage* out = nullptr;
  const auto open = [&](auto... options) {
    return format.load(const_cast<char*>(bytes.data()), bytes.size(), &out, "access",
                       VIPS_ACCESS_SEQUENTIAL, "fail_on", format.fail_on, options..., nullptr);
  };
  int number = 1;
  while (number < 8 && shrink >= 4 * number) number *= 2;  // those that libjpeg has
  const int failed = format.shrinking == Shrinking::by_number ? open("shrink", number)
                     : format.shrinking == Shrinking::by_scale
                         ? open("scale", std::min(1.0, 2 / shrink))
                         : open();
  if (failed != 0) throw DamagedImage{last_vips_message()};
  return Picture(out);
}

/// Whether the embedded profile speaks of as many inks as there are. libvips takes what has fewer.
bool has_fitting_profile(const Picture& picture) {
  const void* profile = nullptr;
  size_t size = 0;
  if (vips_image_get_typeof(picture.get(), VIPS_META_ICC_NAME) == 0 ||
      vips_image_get_blob(picture.get(), VIPS_META_ICC_NAME, &profile, &size) != 0 || size < 20)
    return false;
  const std::string_view space(static_cast<const char*>(profile) + 16, 4);
  switch (vips_image_get_interpretation(picture.get())) {
    case VIPS_INTERPRETATION_B_W:
      return space == "GRAY";
    case VIPS_INTERPRETATION_sRGB:
      return space == "RGB ";
    case VIPS_INTERPRETATION_CMYK:
      return space == "CMYK";
    default:
      return false;
  }
}

/// By the embedded profile, or by libvips's own for inks that come without one. A profile that
/// cannot be used is as good as none.
std::optional<Picture> by_profile(const Picture& picture) {
  const bool is_cmyk = vips_image_get_interpretation(picture.get()) == VIPS_INTERPRETATION_CMYK;
  if (!is_cmyk && !has_fitting_profile(picture)) return std::nullopt;
  try {
    return run(vips_icc_transform, picture, "srgb", "embedded", TRUE, "intent",
               VIPS_INTENT_RELATIVE, "black_point_compensation", TRUE);
  } catch (const DamagedImage&) {
    return std::nullopt;
  }
}

/// 16 bits to 8, rounded; libvips would cut the lower ones off.
Picture in_eight_bits(const Picture& picture, VipsInterpretation interpretation) {
  return run(vips_copy, run(vips_linear1, picture, 1 / 257.0, 0.5, "uchar", TRUE), "interpretation",
             interpretation);
}

/// 8 bits of grey or sRGB, possibly with alpha.
Picture in_our_colors(Picture picture) {
  const VipsInterpretation found = vips_image_get_interpretation(picture.get());
  if (found == VIPS_INTERPRETATION_GREY16)
    picture = in_eight_bits(picture, VIPS_INTERPRETATION_B_W);
  if (found == VIPS_INTERPRETATION_RGB16)
    picture = in_eight_bits(picture, VIPS_INTERPRETATION_sRGB);
  const bool is_grey = vips_image_get_interpretation(picture.get()) == VIPS_INTERPRETATION_B_W;
  const int bands = channels_of(picture);
  if (std::optional<Picture> known = by_profile(picture)) {
    if (!is_grey) return *std::move(known);
    // Of a grey's red, green and blue, which are the same, the last; and alpha, which follows.
    return run(vips_copy, run(vips_extract_band, *known, 2, "n", bands), "interpretation",
               VIPS_INTERPRETATION_B_W);
  }
  if (is_grey || vips_image_get_interpretation(picture.get()) == VIPS_INTERPRETATION_sRGB)
    return picture;
  return run(vips_colourspace, picture, VIPS_INTERPRETATION_sRGB);
}

Picture on_white(Picture picture) {
  if (!vips_image_hasalpha(picture.get())) return picture;
  const double white = 255;
  const std::unique_ptr<VipsArrayDouble, void (*)(VipsArrayDouble*)> background(
      vips_array_double_new(&white, 1),
      [](VipsArrayDouble* array) { vips_area_unref(VIPS_AREA(array)); });
  return run(vips_flatten, picture, "background", background.get());
}

/// The factor by which `from` just covers `to`, or by which it just fits in.
double scale_between(const Size& from, const Size& to, Fit fit) {
  const auto [least, most] = std::minmax(
      {static_cast<double>(to.height) / from.height, static_cast<double>(to.width) / from.width});
  return fit == Fit::crop ? most : least;
}

/// At least as large as the target, or at most.
Picture scaled(Picture picture, const Size& target, Fit fit) {
  const Size size = size_of(picture);
  const double scale = scale_between(size, target, fit);
  const auto length = [&](int from, int to) {
    const int rounded = static_cast<int>(std::lround(from * scale));
    return fit == Fit::crop ? std::max(to, rounded) : std::clamp(rounded, 1, to);
  };
  const Size goal{length(size.height, target.height), length(size.width, target.width)};
  if (goal == size) return picture;
  return run(vips_resize, picture, static_cast<double>(goal.width) / size.width, "vscale",
             static_cast<double>(goal.height) / size.height);
}

Picture center_of(Picture picture, const Size& wanted) {
  const Size size = size_of(picture);
  const Size cut{std::min(wanted.height, size.height), std::min(wanted.width, size.width)};
  if (cut == size) return picture;
  return run(vips_extract_area, picture, (size.width - cut.width) / 2,
             (size.height - cut.height) / 2, cut.width, cut.height);
}

/// The whole picture in the middle of a black one.
Picture padded(Picture picture, const Size& target) {
  picture = scaled(std::move(picture), target, Fit::pad);
  const Size size = size_of(picture);
  if (size == target) return picture;
  return run(vips_embed, picture, (target.width - size.width) / 2,
             (target.height - size.height) / 2, target.width, target.height, "extend",
             VIPS_EXTEND_BLACK);
}

/// The centre in the target's size. What is to be enlarged is cut first: a whole strip of a few
/// pixels' height may become longer than libvips counts.
Picture cropped(Picture picture, const Size& target) {
  const Size size = size_of(picture);
  const double scale = scale_between(size, target, Fit::crop);
  if (scale > 1) {
    const auto needed = [&](int length, int goal) {
      const int window = static_cast<int>(std::ceil(goal / scale));
      return window + (length - window) % 2;  // as much is cut on one side as on the other
    };
    picture = center_of(std::move(picture),
                        {needed(size.height, target.height), needed(size.width, target.width)});
  }
  return center_of(scaled(std::move(picture), target, Fit::crop), target);
}

Picture fitted(Picture picture, const Size& target, Fit fit) {
  return fit == Fit::crop ? cropped(std::move(picture), target)
                          : padded(std::move(picture), target);
}

/// [H, W, C], by strips and in this thread. Memory is taken as pixels come: a header that promises
/// more than its file holds costs nothing.
std::vector<uint8_t> pixels_of(const Picture& picture) {
  constexpr int strip = 16;
  const Size size = size_of(picture);
  const size_t row_bytes = VIPS_IMAGE_SIZEOF_LINE(picture.get());
  const std::unique_ptr<VipsRegion, Unref> region(vips_region_new(picture.get()));
  std::vector<uint8_t> pixels;
  pixels.reserve(row_bytes * static_cast<size_t>(size.height));
  for (int top = 0; top < size.height; top += strip) {
    const VipsRect rows{0, top, size.width, std::min(strip, size.height - top)};
    if (vips_region_prepare(region.get(), &rows) != 0) throw DamagedImage{last_vips_message()};
    for (int row = top; row < top + rows.height; ++row) {
      const VipsPel* values = VIPS_REGION_ADDR(region.get(), 0, row);
      pixels.insert(pixels.end(), values, values + row_bytes);
    }
  }
  return pixels;
}

/// A picture of values that stay where they are, [H, W, C].
Picture wrapped(const std::vector<uint8_t>& values, const Size& size, int channels) {
  Picture picture(vips_image_new_from_memory(values.data(), values.size(), size.width, size.height,
                                             channels, VIPS_FORMAT_UCHAR));
  if (picture == nullptr) throw DamagedImage{last_vips_message()};
  return picture;
}

Image to_image(const std::vector<uint8_t>& values, const Size& size, int channels) {
  Image image = Image::filled(channels, size.height, size.width);
  const auto plane = static_cast<size_t>(size.height) * static_cast<size_t>(size.width);
  const auto step = static_cast<size_t>(channels);
  for (size_t channel = 0; channel < step; ++channel)
    for (size_t i = 0; i < plane; ++i)
      image.pixels[channel * plane + i] = values[i * step + channel];
  return image;
}

[[noreturn]] void fail(const fs::path& path, std::string found, std::string expected,
                       std::string cause) {
  throw Error({.doing = kReading,
               .object = path.string(),
               .found = std::move(found),
               .expected = std::move(expected),
               .cause = std::move(cause)});
}

void check_size(const Size& size, const fs::path& path, const ImageLimits& limits) {
  const std::string found = fmt::format("{}x{} pixels", size.width, size.height);
  if (std::min(size.height, size.width) < 1 ||
      std::max(size.height, size.width) > kLongestImageSide)
    fail(path, found, fmt::format("1 to {} per side", kLongestImageSide), "is the file damaged?");
  if (int64_t{size.height} * size.width > limits.pixels)
    fail(path, found, fmt::format("at most {} in all", limits.pixels), "make it smaller first");
}

/// Measurements and layers come as TIFF too; what their numbers would look like nobody knows.
void check_values(const Picture& picture, const fs::path& path) {
  const bool is_grey = vips_image_get_interpretation(picture.get()) == VIPS_INTERPRETATION_B_W;
  const VipsBandFormat format = vips_image_get_format(picture.get());
  if (channels_of(picture) == (is_grey ? 1 : 3) && format == VIPS_FORMAT_UCHAR) return;
  fail(path,
       fmt::format("{} values per pixel, of type {}", channels_of(picture),
                   vips_enum_nick(VIPS_TYPE_BAND_FORMAT, format)),
       "grey or colours in 8 or 16 bits", "convert it first");
}

/// All pixels of a file are read, also those that are cut off: damage is damage.
Image read_pixels(const Format& format, std::string_view bytes, const fs::path& path,
                  const ImageLimits& limits, const std::optional<Target>& target,
                  Complaints& complaints) {
  const Picture header = load(format, bytes, 1);  // to the end: it may complain when it is closed
  check_size(size_of(header), path, limits);
  const int orientation = vips_image_get_orientation(header.get());
  Size stored = target ? target->size : size_of(header);
  const Fit fit = target ? target->fit : Fit::crop;
  if (target && orientation >= 5) std::swap(stored.height, stored.width);  // a quarter turn
  const double shrink = 1 / scale_between(size_of(header), stored, fit);

  Picture picture = shrink > 1 ? load(format, bytes, shrink) : shared(header);
  picture = on_white(in_our_colors(std::move(picture)));
  check_values(picture, path);
  if (shrink > 1) picture = scaled(std::move(picture), stored, fit);
  complaints.pixels_begin();
  const std::vector<uint8_t> values = pixels_of(picture);
  if (orientation == 1 && (!target || size_of(picture) == target->size))
    return to_image(values, size_of(picture), channels_of(picture));

  picture = wrapped(values, size_of(picture), channels_of(picture));
  vips_image_set_int(picture.get(), VIPS_META_ORIENTATION, orientation);
  if (orientation != 1) picture = run(vips_autorot, picture);
  if (target) picture = fitted(std::move(picture), target->size, fit);
  return to_image(pixels_of(picture), size_of(picture), channels_of(picture));
}

/// libvips has no loader of its own for BMP.
Image decode_bmp_file(std::string_view bytes, const fs::path& path, const ImageLimits& limits,
                      const std::optional<Target>& target) {
  try {
    const BmpHeader header = read_bmp_header(bytes);
    check_size({header.height, header.width}, path, limits);
    const Image image = read_bmp_pixels(bytes, header);
    return target ? resize(image, target->size.height, target->size.width, target->fit) : image;
  } catch (const DamagedImage& damaged) {
    fail(path, fmt::format("damage ({})", damaged.damage), "a whole BMP file",
         "was the file cut short?");
  }
}

Image decode(std::string_view bytes, const fs::path& path, const ImageLimits& limits,
             const std::optional<Target>& target) {
  require_vips(kReading);
  const Format* format = format_of(bytes);
  if (is_bmp(bytes)) return decode_bmp_file(bytes, path, limits, target);
  if (format == nullptr)
    fail(path, bytes.empty() ? "an empty file" : "a file of another kind",
         fmt::format("a {} file", kReadFormats), "other formats are to be converted first");
  if (format == &kHeic && vips_type_find("VipsOperation", "heifload_buffer") == 0)
    fail(path, "a HEIC file", "another format", "the libvips here is built without HEIC");
  try {
    vips_error_clear();
    std::string essential;
    if (format == &kPng) bytes = essential = essential_png(bytes);
    if (format == &kJpeg) check_jpeg(bytes, limits.jpeg_scans);
    Complaints complaints;
    Image image = read_pixels(*format, bytes, path, limits, target, complaints);
    complaints.throw_any();
    return image;
  } catch (const DamagedImage& damaged) {
    fail(path, fmt::format("damage ({})", damaged.damage),
         fmt::format("a whole {} file", format->name), "was the file cut short?");
  }
}

Size checked_target(int64_t height, int64_t width) {
  if (std::min(height, width) < 1 || std::max(height, width) > kLongestImageSide)
    throw Error({.doing = kResizing,
                 .found = fmt::format("a target of {}x{} pixels", width, height),
                 .expected = fmt::format("1 to {} per side", kLongestImageSide)});
  return {static_cast<int>(height), static_cast<int>(width)};
}

}  // namespace

Image read_image(const fs::path& path) { return decode_image(read_text(path, kReading), path); }

Image read_image(const fs::path& path, int64_t height, int64_t width, Fit fit) {
  const Target target{checked_target(height, width), fit};
  return decode(read_text(path, kReading), path, {}, target);
}

void require_image_reader() { require_vips(kReading); }

Image decode_image(std::string_view bytes, const fs::path& name, const ImageLimits& limits) {
  return decode(bytes, name, limits, std::nullopt);
}

Image resize(const Image& image, int64_t height, int64_t width, Fit fit) {
  check_image(image, kResizing);
  const Size target = checked_target(height, width);
  const Size size{static_cast<int>(image.height), static_cast<int>(image.width)};
  if (size == target) return image;
  require_vips(kResizing);
  const std::vector<uint8_t> values = interleaved(image);
  try {
    const Picture picture =
        fitted(wrapped(values, size, static_cast<int>(image.channels)), target, fit);
    return to_image(pixels_of(picture), size_of(picture), channels_of(picture));
  } catch (const DamagedImage& failure) {
    throw Error({.doing = kResizing, .found = failure.damage, .expected = "no error"});
  }
}

}  // namespace facet
