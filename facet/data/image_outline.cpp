#include "facet/data/image_outline.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <zlib.h>

#include <fmt/format.h>

namespace facet {
namespace {

[[noreturn]] void fail_cut_short() { throw DamagedImage{"the file ends too early"}; }

uint32_t big_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

/// The first bytes of what is left, which they are taken from.
std::string_view take(std::string_view& rest, size_t count) {
  if (count > rest.size()) fail_cut_short();
  const std::string_view taken = rest.substr(0, count);
  rest.remove_prefix(count);
  return taken;
}

/// Whether a chunk of a PNG has a say in its pixels; a small first letter marks what may be
/// ignored.
bool is_essential(std::string_view type) {
  constexpr std::array<std::string_view, 6> about_pixels = {"tRNS", "iCCP", "sRGB",
                                                            "gAMA", "cHRM", "eXIf"};
  return (type[0] & 0x20) == 0 ||
         std::find(about_pixels.begin(), about_pixels.end(), type) != about_pixels.end();
}

/// The next marker of a JPEG: bytes of 0xff, and one that is none. Inside a scan 0xff00 stands for
/// a byte of data, and the eight restart markers belong to the data too.
uint8_t next_marker(std::string_view& rest, bool in_scan) {
  for (;;) {
    const size_t start = rest.find('\xff');
    if (start == std::string_view::npos) fail_cut_short();
    const size_t code = rest.find_first_not_of('\xff', start);
    if (code == std::string_view::npos) fail_cut_short();
    const auto marker = static_cast<uint8_t>(rest[code]);
    rest.remove_prefix(code + 1);
    const bool is_data = marker == 0 || (marker >= 0xd0 && marker <= 0xd7);
    if (!(in_scan && is_data)) return marker;
  }
}

}  // namespace

std::string essential_png(std::string_view bytes) {
  std::string_view rest = bytes;
  std::string essential(take(rest, 8));
  for (;;) {
    const std::string_view whole = rest;
    const size_t length = big_endian(take(rest, 4));
    const std::string_view type = take(rest, 4);
    take(rest, length);
    const uint32_t promised = big_endian(take(rest, 4));
    const auto* checked = reinterpret_cast<const Bytef*>(type.data());
    if (crc32_z(0, checked, 4 + length) != promised)
      throw DamagedImage{"a checksum does not agree"};
    if (is_essential(type)) essential += whole.substr(0, 12 + length);
    if (type == "IEND") return essential;
  }
}

void check_jpeg(std::string_view bytes, int most_scans) {
  constexpr uint8_t end_of_image = 0xd9, start_of_scan = 0xda;
  std::string_view rest = bytes;
  take(rest, 2);
  int scans = 0;
  bool in_scan = false;
  for (;;) {
    const uint8_t marker = next_marker(rest, in_scan);
    if (marker == end_of_image) return;
    const bool stands_alone = marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    if (stands_alone) continue;
    const uint32_t length = big_endian(take(rest, 2));
    if (length < 2) throw DamagedImage{"a segment shorter than its own length"};
    take(rest, length - 2);
    in_scan = marker == start_of_scan;
    if (in_scan && ++scans > most_scans)
      throw DamagedImage{fmt::format("more than {} scans", most_scans)};
  }
}

}  // namespace facet
