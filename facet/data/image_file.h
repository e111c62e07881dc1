// Pictures as files: PNG and JPEG in and out, and the resizing that brings pictures of all shapes
// to the one shape of a pack. A damaged file is always an Error, also where the image libraries
// would carry on with a warning and invent the missing part: bad data never trains silently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "facet/data/image.h"

namespace facet {

/// The longest side of a picture that is read or drawn; more is taken for a damaged header.
inline constexpr int64_t kLongestImageSide = 16384;

/// What a picture may cost that comes from someone else.
struct ImageLimits {
  int64_t pixels = kLongestImageSide * kLongestImageSide;
  int jpeg_scans = 500;  ///< real files have about ten; each costs a whole pass
};

/// Reads a PNG or JPEG, told apart by its first bytes and not by its name. Grey stays grey, all
/// else becomes RGB; 16 bits become 8; what is transparent is laid on white.
Image read_image(const std::filesystem::path& path);

/// The same from the bytes of a file; `name` is for messages.
Image decode_image(std::string_view bytes, const std::filesystem::path& name,
                   const ImageLimits& limits = {});

/// The bytes of a PNG file of a grey or RGB image.
std::string encode_png(const Image& image);

/// Writes a PNG that appears completely or not at all.
void write_png(const std::filesystem::path& path, const Image& image);

/// The bytes of a JPEG file of a grey or RGB image, of good quality: for sheets of photographs, of
/// which a PNG is several times larger.
std::string encode_jpeg(const Image& image);

/// Writes a JPEG where the name ends in .jpg or .jpeg, and a PNG else.
void write_picture(const std::filesystem::path& path, const Image& image);

/// The same picture in 1 or 3 channels: colours become their luma, grey all three colours.
Image with_channels(const Image& image, int64_t channels);

/// Cuts the largest centred window of the target's aspect ratio, then averages over areas where
/// that shrinks and interpolates linearly where it enlarges.
Image resize(const Image& image, int64_t height, int64_t width);

}  // namespace facet
