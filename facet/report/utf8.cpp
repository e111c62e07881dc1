#include "facet/report/utf8.h"

#include <cstdint>
#include <vector>

namespace facet {
namespace {

constexpr std::string_view kEllipsis = "...";

/// What may follow the first byte of a character.
struct Sequence {
  int more = 0;                     ///< bytes after the first; -1 where it begins no character
  uint8_t low = 0x80, high = 0xbf;  ///< limits of the second byte; others are 0x80 to 0xbf
};

/// The limits rule out what has a shorter form, surrogates and numbers above U+10FFFF.
Sequence sequence_after(uint8_t first) {
  if (first < 0x80) return {0};
  if (first >= 0xc2 && first <= 0xdf) return {1};
  if (first == 0xe0) return {2, 0xa0, 0xbf};
  if (first == 0xed) return {2, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {2};
  if (first == 0xf0) return {3, 0x90, 0xbf};
  if (first >= 0xf1 && first <= 0xf3) return {3};
  if (first == 0xf4) return {3, 0x80, 0x8f};
  return {-1};
}

}  // namespace

char32_t next_character(std::string_view text, size_t& at) {
  const auto first = static_cast<uint8_t>(text[at++]);
  Sequence sequence = sequence_after(first);
  if (sequence.more < 0) return kReplacementCharacter;
  // The first byte has 7, 5, 4 or 3 bits of the number.
  char32_t code = sequence.more == 0 ? first : first & (0x3fu >> sequence.more);
  for (int i = 0; i < sequence.more; ++i) {
    const uint8_t byte = at < text.size() ? static_cast<uint8_t>(text[at]) : 0;
    if (byte < sequence.low || byte > sequence.high) return kReplacementCharacter;
    code = code << 6 | (byte & 0x3fu);
    sequence.low = 0x80, sequence.high = 0xbf;
    ++at;
  }
  return code;
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string characters;
  for (size_t at = 0; at < text.size();) characters += next_character(text, at);
  return characters;
}

std::string shorten(std::string_view text, const std::function<bool(const std::string&)>& fits) {
  if (fits(std::string(text))) return std::string(text);
  std::vector<size_t> starts;  // of the characters
  for (size_t at = 0; at < text.size(); next_character(text, at)) starts.push_back(at);
  const auto beginning = [&](size_t characters) {
    std::string_view kept = text.substr(0, starts[characters]);
    while (!kept.empty() && kept.back() == ' ') kept.remove_suffix(1);
    return std::string(kept).append(kEllipsis);
  };
  size_t fitting = 0, too_long = starts.size();
  if (starts.empty() || !fits(beginning(0))) return "";
  while (fitting + 1 < too_long) {
    const size_t middle = (fitting + too_long) / 2;
    (fits(beginning(middle)) ? fitting : too_long) = middle;
  }
  return beginning(fitting);
}

}  // namespace facet
