#include "facet/core/base64.h"

#include <cstdint>

namespace facet {

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) -> uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += letters[group >> 18 & 63];
    text += letters[group >> 12 & 63];
    text += i + 1 < bytes.size() ? letters[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? letters[group & 63] : '=';
  }
  return text;
}

}  // namespace facet
