// Pictures as files: many formats in, through libvips, and PNG and JPEG out. A damaged file is
// always an Error, also where the image libraries would carry on with a warning and invent the
// missing part: bad data never trains silently. Without libvips the program still writes pictures;
// what reads or resizes one is then an Error that says what is missing.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "facet/data/image.h"
#include "facet/data/image_fit.h"

namespace facet {

/// The formats that are read, for messages; files are told apart by content and not by name.
inline constexpr std::string_view kReadFormats = "PNG, JPEG, WebP, TIFF, GIF, BMP or HEIC";

/// How names of pictures end, in small letters: what an import of a folder takes.
inline constexpr std::array<std::string_view, 10> kPictureEndings = {
    ".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".gif", ".bmp", ".heic", ".heif"};

/// What a picture may cost that comes from someone else.
struct ImageLimits {
  int64_t pixels = kLongestImageSide * kLongestImageSide;
  int jpeg_scans = 500;  ///< real files have about ten; each costs a whole pass
};

/// Reads the first page or frame of a picture. Grey stays grey, all else becomes sRGB (by the
/// embedded colour profile, where there is one); 16 bits become 8; what is transparent is laid on
/// white; the camera's orientation is applied.
Image read_image(const std::filesystem::path& path);

/// The same brought to a size as resize() does. Large photos are shrunk while they are decoded,
/// which takes a fraction of the time and of the memory.
Image read_image(const std::filesystem::path& path, int64_t height, int64_t width,
                 Fit fit = Fit::crop);

/// Throws an Error if this program cannot read any picture.
void require_image_reader();

/// The picture in the bytes of a file; `name` is for messages.
Image decode_image(std::string_view bytes, const std::filesystem::path& name,
                   const ImageLimits& limits = {});

/// Cuts the largest centred window of the target's aspect ratio, or pads the whole picture to it,
/// and brings it to the target's size, by a Lanczos filter where that shrinks and cubic
/// interpolation where it enlarges.
Image resize(const Image& image, int64_t height, int64_t width, Fit fit = Fit::crop);

/// The bytes of a PNG file of a grey or RGB image.
std::string encode_png(const Image& image);

/// Writes a PNG that appears completely or not at all.
void write_png(const std::filesystem::path& path, const Image& image);

/// The bytes of a JPEG file of a grey or RGB image, of good quality: for sheets of photographs, of
/// which a PNG is several times larger.
std::string encode_jpeg(const Image& image);

/// Writes a JPEG where the name ends in .jpg or .jpeg, and a PNG else.
void write_picture(const std::filesystem::path& path, const Image& image);

}  // namespace facet
