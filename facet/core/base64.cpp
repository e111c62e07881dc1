#include "facet/core/base64.h"

#include <cstdint>

#include "facet/core/error.h"

namespace facet {

namespace {

constexpr std::string_view kBase64Letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) -> uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += kBase64Letters[group >> 18 & 63];
    text += kBase64Letters[group >> 12 & 63];
    text += i + 1 < bytes.size() ? kBase64Letters[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kBase64Letters[group & 63] : '=';
  }
  return text;
}

std::string from_base64(std::string_view text) {
  const Error broken({.doing = "reading base64",
                      .found = "text that is none",
                      .expected = "groups of four letters, the last filled up with ="});
  if (text.size() % 4 != 0) throw broken;
  const size_t filling = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      const bool fills = i + k >= text.size() - filling;
      const size_t value = fills ? 0 : kBase64Letters.find(text[i + k]);
      if (value == std::string_view::npos) throw broken;
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 255);
  }
  for (size_t k = 0; k < filling; ++k) bytes.pop_back();
  return bytes;
}

}  // namespace facet
