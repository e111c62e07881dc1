#include "facet/data/text_encoding.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdint>
#include <cwctype>
#include <locale.h>

#include <fmt/format.h>

namespace facet {
namespace {

using namespace std::string_view_literals;

/// Windows-1252 from 0x80 to 0x9f; zero where it has no character. The rest is as in Latin-1.
constexpr std::array<char16_t, 32> kWindows1252 = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

void append(std::string& text, char32_t character) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xc0 | character >> 6);
    put(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    put(0xe0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3f));
    put(0x80 | (character & 0x3f));
  } else {
    put(0xf0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3f));
    put(0x80 | (character >> 6 & 0x3f));
    put(0x80 | (character & 0x3f));
  }
}

/// The bytes of the character that begins at `at`, 1 to 4, and its number; 0 if they are no UTF-8:
/// a wrong byte, the end of the text, more bytes than needed, half of a surrogate pair.
size_t character_at(std::string_view text, size_t at, char32_t& character) {
  const auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) {
    character = first;
    return 1;
  }
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + size > text.size()) return 0;
  character = first & (0xff >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[at + i]);
    if ((byte & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte & 0x3f);
  }
  constexpr std::array<char32_t, 5> smallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_half = character >= 0xd800 && character < 0xe000;
  return character < smallest[size] || character > 0x10ffff || is_half ? 0 : size;
}

struct Utf8Count {
  size_t long_characters = 0;                   ///< of two bytes or more
  size_t first_wrong = std::string_view::npos;  ///< the first byte that is no UTF-8
};

Utf8Count count_utf8(std::string_view text) {
  Utf8Count count;
  char32_t character = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_at(text, at, character);
    if (size > 1) ++count.long_characters;
    if (size == 0 && count.first_wrong == std::string_view::npos) count.first_wrong = at;
    at += std::max<size_t>(1, size);
  }
  return count;
}

size_t line_of(std::string_view text, size_t at) {
  return 1 +
         static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

std::string from_utf16(std::string_view bytes, bool big_endian, const Attempt& reading) {
  if (bytes.size() % 2 != 0)
    reading.fail("UTF-16 that ends in half a character", "a whole file", "was it cut short?");
  const auto unit = [&](size_t at) {
    const auto first = static_cast<uint8_t>(bytes[at]),
               second = static_cast<uint8_t>(bytes[at + 1]);
    return static_cast<char32_t>(big_endian ? first << 8 | second : second << 8 | first);
  };
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 2) {
    char32_t character = unit(at);
    if (character >= 0xd800 && character < 0xe000) {
      const char32_t low = at + 2 < bytes.size() ? unit(at + 2) : 0;
      if (character >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
        reading.fail(
            fmt::format("half of a character of UTF-16 in line {}", line_of(text, text.size())),
            "text", "is the file damaged?");
      character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
      at += 2;
    }
    append(text, character);
  }
  return text;
}

std::string from_windows_1252(std::string_view bytes, const Attempt& reading) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); ++at) {
    const auto byte = static_cast<uint8_t>(bytes[at]);
    const char32_t character = byte >= 0x80 && byte < 0xa0 ? kWindows1252[byte - 0x80] : byte;
    if (character == 0 && byte != 0)
      reading.fail(fmt::format("byte {:#04x} in line {}, which is neither UTF-8 nor Windows-1252",
                               byte, line_of(bytes, at)),
                   "text in UTF-8", "save it again as CSV in UTF-8");
    append(text, character);
  }
  return text;
}

}  // namespace

DecodedText to_utf8(std::string bytes, const Attempt& reading) {
  const std::string_view view = bytes;
  if (view.starts_with("\xff\xfe"sv)) return {from_utf16(view.substr(2), false, reading), "UTF-16"};
  if (view.starts_with("\xfe\xff"sv)) return {from_utf16(view.substr(2), true, reading), "UTF-16"};
  if (view.starts_with("PK\x03\x04"sv) || view.starts_with("\xd0\xcf\x11\xe0"sv))
    reading.fail("a spreadsheet", "a text file", "save it as CSV in UTF-8");
  const bool is_marked = view.starts_with("\xef\xbb\xbf"sv);
  if (is_marked) bytes.erase(0, 3);
  const Utf8Count count = count_utf8(bytes);
  if (count.first_wrong == std::string_view::npos) return {std::move(bytes), "UTF-8"};
  // Letters of Windows-1252 hardly ever follow each other so that they look like UTF-8.
  if (is_marked || count.long_characters > 0)
    reading.fail(
        fmt::format("bytes in line {} that are no UTF-8, in a file that is UTF-8 elsewhere",
                    line_of(bytes, count.first_wrong)),
        "one encoding", "save it again as CSV in UTF-8");
  return {from_windows_1252(bytes, reading), "Windows-1252"};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::array<std::string_view, 7> blanks = {" "sv,  "\t"sv, "\n"sv,      "\r"sv,
                                                      "\v"sv, "\f"sv, "\xc2\xa0"sv};
  const auto cut = [&](auto is_at_end, auto remove) {
    for (bool found = true; found;) {
      found = false;
      for (const std::string_view blank : blanks)
        if (is_at_end(blank)) {
          remove(blank.size());
          found = true;
        }
    }
  };
  cut([&](std::string_view blank) { return text.starts_with(blank); },
      [&](size_t size) { text.remove_prefix(size); });
  cut([&](std::string_view blank) { return text.ends_with(blank); },
      [&](size_t size) { text.remove_suffix(size); });
  return text;
}

std::string lower_case(std::string_view text) {
  // The C library knows all alphabets, in a locale that every system has; without it A to Z.
  static const locale_t letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::string lower;
  char32_t character = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_at(text, at, character);
    if (size == 0) {
      lower += text[at++];
      continue;
    }
    at += size;
    if (letters != nullptr)
      character = static_cast<char32_t>(towlower_l(static_cast<wint_t>(character), letters));
    else if (character >= 'A' && character <= 'Z')
      character += 'a' - 'A';
    append(lower, character);
  }
  return lower;
}

}  // namespace facet
