#include "facet/report/font.h"

#include <algorithm>
#include <array>

namespace facet {
namespace {

constexpr int kFirstCharacter = ' ';
constexpr int kUnknownCharacter = 127;  // the box at the end of the sheet
constexpr size_t kCharacters = 96;
constexpr size_t kCharactersPerBand = 12;
constexpr int64_t kGlyphColumns = 5;
constexpr int64_t kSpaceBetween = 1;
constexpr int64_t kSpaceWidth = 3;
constexpr uint8_t kInk = 34;
constexpr std::string_view kEllipsis = "...";

/// All characters in the order of ASCII, twelve to a band, as they look.
constexpr std::string_view kSheet = R"(
..... #.... #.#.. .#.#. ..#.. ##..# .##.. #.... ..#.. #.... ..... .....
..... #.... #.#.. .#.#. .#### ##..# #..#. #.... .#... .#... ..#.. ..#..
..... #.... ..... ##### #.#.. ...#. #..#. ..... #.... ..#.. #.#.# ..#..
..... #.... ..... .#.#. .###. ..#.. .##.. ..... #.... ..#.. .###. #####
..... #.... ..... ##### ..#.# .#... #.#.# ..... #.... ..#.. #.#.# ..#..
..... ..... ..... .#.#. ####. #..## #..#. ..... .#... .#... ..#.. ..#..
..... #.... ..... .#.#. ..#.. #..## .##.# ..... ..#.. #.... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....

..... ..... ..... ....# ..#.. ..#.. .###. .###. ...#. ##### ..##. #####
..... ..... ..... ....# .#.#. .##.. #...# #...# ..##. #.... .#... ....#
..... ..... ..... ...#. #...# #.#.. ....# ....# .#.#. ####. #.... ...#.
..... ####. ..... ..#.. #...# ..#.. ...#. ..##. #..#. ....# ####. ..#..
..... ..... ..... .#... #...# ..#.. ..#.. ....# ##### ....# #...# .#...
..... ..... ..... #.... .#.#. ..#.. .#... #...# ...#. #...# #...# .#...
.#... ..... #.... #.... ..#.. ##### ##### .###. ...#. .###. .###. .#...
.#... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
#.... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....

.###. .###. ..... ..... ...#. ..... #.... .###. .###. .###. ####. .###.
#...# #...# ..... ..... ..#.. ..... .#... #...# #...# #...# #...# #...#
#...# #...# #.... .#... .#... ####. ..#.. ....# #.### #...# #...# #....
.###. .#### ..... ..... #.... ..... ...#. ...#. #.#.# ##### ####. #....
#...# ....# ..... ..... .#... ####. ..#.. ..#.. #.### #...# #...# #....
#...# ...#. ..... ..... ..#.. ..... .#... ..... #.... #...# #...# #...#
.###. .##.. #.... .#... ...#. ..... #.... ..#.. .###. #...# ####. .###.
..... ..... ..... .#... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... #.... ..... ..... ..... ..... ..... ..... ..... .....

####. ##### ##### .###. #...# ###.. ..### #...# #.... #...# #...# .###.
#...# #.... #.... #...# #...# .#... ...#. #..#. #.... ##.## ##..# #...#
#...# #.... #.... #.... #...# .#... ...#. #.#.. #.... #.#.# ##..# #...#
#...# ####. ####. #..## ##### .#... ...#. ##... #.... #.#.# #.#.# #...#
#...# #.... #.... #...# #...# .#... ...#. #.#.. #.... #...# #..## #...#
#...# #.... #.... #...# #...# .#... #..#. #..#. #.... #...# #..## #...#
####. ##### #.... .#### #...# ###.. .##.. #...# ####. #...# #...# .###.
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....

####. .###. ####. .#### ##### #...# #...# #...# #...# #...# ##### ###..
#...# #...# #...# #.... ..#.. #...# #...# #...# #...# #...# ....# #....
#...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#. #....
####. #...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#.. #....
#.... #.#.# #.#.. ....# ..#.. #...# #...# #.#.# .#.#. ..#.. .#... #....
#.... #..#. #..#. ....# ..#.. #...# .#.#. #.#.# #...# ..#.. #.... #....
#.... .##.# #...# ####. ..#.. .###. ..#.. .#.#. #...# ..#.. ##### ###..
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....

#.... ###.. ..#.. ..... #.... ..... #.... ..... ...#. ..... ..#.. .....
#.... ..#.. .#.#. ..... .#... ..... #.... ..... ...#. ..... .#... .....
.#... ..#.. #...# ..... ..... .##.. ###.. .###. .###. .##.. ###.. .###.
..#.. ..#.. ..... ..... ..... ...#. #..#. #.... #..#. #..#. .#... #..#.
...#. ..#.. ..... ..... ..... .###. #..#. #.... #..#. ####. .#... #..#.
....# ..#.. ..... ..... ..... #..#. #..#. #.... #..#. #.... .#... #..#.
....# ###.. ..... ..... ..... .###. ###.. .###. .###. .###. .#... .###.
..... ..... ..... ##### ..... ..... ..... ..... ..... ..... ..... ...#.
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ###..

#.... #.... .#... #.... #.... ..... ..... ..... ..... ..... ..... .....
#.... ..... ..... #.... #.... ..... ..... ..... ..... ..... ..... .....
###.. #.... .#... #..#. #.... ##.#. ###.. .##.. ###.. .###. #.#.. .###.
#..#. #.... .#... #.#.. #.... #.#.# #..#. #..#. #..#. #..#. ##... #....
#..#. #.... .#... ##... #.... #.#.# #..#. #..#. #..#. #..#. #.... .##..
#..#. #.... .#... #.#.. #.... #.#.# #..#. #..#. #..#. #..#. #.... ...#.
#..#. #.... .#... #..#. .#... #.#.# #..#. .##.. ###.. .###. #.... ###..
..... ..... .#... ..... ..... ..... ..... ..... #.... ...#. ..... .....
..... ..... #.... ..... ..... ..... ..... ..... #.... ...#. ..... .....

.#... ..... ..... ..... ..... ..... ..... ..#.. #.... #.... ..... #####
.#... ..... ..... ..... ..... ..... ..... .#... #.... .#... ..... #...#
###.. #..#. #...# #...# #..#. #..#. ####. .#... #.... .#... .#..# #...#
.#... #..#. #...# #.#.# #..#. #..#. ...#. #.... #.... ..#.. #.#.# #...#
.#... #..#. #...# #.#.# .##.. #..#. .##.. .#... #.... .#... #..#. #...#
.#... #..#. .#.#. #.#.# #..#. #..#. #.... .#... #.... .#... ..... #...#
..#.. .###. ..#.. .#.#. #..#. .###. ####. ..#.. #.... #.... ..... #####
..... ..... ..... ..... ..... ...#. ..... ..... #.... ..... ..... .....
..... ..... ..... ..... ..... ###.. ..... ..... #.... ..... ..... .....
)";

struct Glyph {
  std::array<std::array<bool, kGlyphColumns>, kTextHeight> ink{};
  int64_t width = kSpaceWidth;  ///< of the ink; narrow letters take less room than wide ones
};

/// Cuts the sheet into glyphs.
std::array<Glyph, kCharacters> cut_sheet() {
  constexpr size_t line = kCharactersPerBand * (kGlyphColumns + 1);  // with spaces and line end
  constexpr size_t band = kTextHeight * line + 1;                    // with the blank line after it
  static_assert(kSheet.size() == 1 + kCharacters / kCharactersPerBand * band - 1);
  std::array<Glyph, kCharacters> glyphs;
  for (size_t i = 0; i < kCharacters; ++i) {
    const size_t corner =
        1 + i / kCharactersPerBand * band + i % kCharactersPerBand * (kGlyphColumns + 1);
    int64_t widest = 0;
    for (size_t row = 0; row < kTextHeight; ++row)
      for (size_t column = 0; column < kGlyphColumns; ++column) {
        const bool ink = kSheet[corner + row * line + column] == '#';
        glyphs[i].ink[row][column] = ink;
        if (ink) widest = std::max(widest, static_cast<int64_t>(column) + 1);
      }
    if (widest > 0) glyphs[i].width = widest;
  }
  return glyphs;
}

/// The second and later bytes of a character in UTF-8 are drawn with its first.
bool continues_character(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

const Glyph& glyph_of(char c) {
  static const std::array<Glyph, kCharacters> glyphs = cut_sheet();
  const int code = static_cast<uint8_t>(c);
  const bool known = code >= kFirstCharacter && code < kUnknownCharacter;
  return glyphs[static_cast<size_t>((known ? code : kUnknownCharacter) - kFirstCharacter)];
}

void draw_glyph(Image& image, int64_t row, int64_t column, const Glyph& glyph, int64_t scale) {
  for (int64_t y = 0; y < kTextHeight * scale; ++y)
    for (int64_t x = 0; x < glyph.width * scale; ++x) {
      const bool inside =
          row + y >= 0 && row + y < image.height && column + x >= 0 && column + x < image.width;
      if (!inside || !glyph.ink[static_cast<size_t>(y / scale)][static_cast<size_t>(x / scale)])
        continue;
      for (int64_t channel = 0; channel < image.channels; ++channel)
        image.at(channel, row + y, column + x) = kInk;
    }
}

}  // namespace

int64_t text_width(std::string_view text, int64_t scale) {
  int64_t width = 0;
  for (const char c : text)
    if (!continues_character(c)) width += glyph_of(c).width + kSpaceBetween;
  return std::max<int64_t>(width - kSpaceBetween, 0) * scale;
}

std::string shorten_text(std::string_view text, int64_t width, int64_t scale) {
  if (text_width(text, scale) <= width) return std::string(text);
  std::string_view kept = text;
  while (true) {
    while (!kept.empty() && continues_character(kept.back())) kept.remove_suffix(1);
    if (kept.empty()) break;
    kept.remove_suffix(1);
    while (!kept.empty() && kept.back() == ' ') kept.remove_suffix(1);
    const std::string candidate = std::string(kept).append(kEllipsis);
    if (text_width(candidate, scale) <= width) return candidate;
  }
  return "";
}

void draw_text(Image& image, int64_t row, int64_t column, std::string_view text, int64_t scale) {
  for (const char c : text) {
    if (continues_character(c)) continue;
    const Glyph& glyph = glyph_of(c);
    draw_glyph(image, row, column, glyph, scale);
    column += (glyph.width + kSpaceBetween) * scale;
  }
}

}  // namespace facet
