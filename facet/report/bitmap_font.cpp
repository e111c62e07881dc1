// A small proportional bitmap font for printable ASCII, drawn for Facet: captions need no font file
// and no font library. Letters are seven pixels tall with two more below the baseline and two above
// them, and are magnified by whole factors only, which keeps them crisp.
#include <algorithm>
#include <array>

#include "facet/report/font.h"

namespace facet {
namespace {

constexpr char32_t kFirstCharacter = U' ';
constexpr char32_t kUnknownCharacter = 127;  // the box at the end of the sheet
constexpr size_t kCharacters = 96;
constexpr size_t kCharactersPerBand = 12;
constexpr int64_t kGlyphColumns = 5, kGlyphRows = 9;
constexpr int64_t kCapitalRows = 7;
constexpr int64_t kRowsAbove = 2;  // as outline fonts have for accents, so that layouts are alike
constexpr int64_t kSpaceBetween = 1;
constexpr int64_t kSpaceWidth = 3;

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
  std::array<std::array<bool, kGlyphColumns>, kGlyphRows> ink{};
  int64_t width = kSpaceWidth;  ///< of the ink; narrow letters take less room than wide ones
};

/// Cuts the sheet into glyphs.
std::array<Glyph, kCharacters> cut_sheet() {
  constexpr size_t line = kCharactersPerBand * (kGlyphColumns + 1);  // with spaces and line end
  constexpr size_t band = kGlyphRows * line + 1;                     // with the blank line after it
  static_assert(kSheet.size() == 1 + kCharacters / kCharactersPerBand * band - 1);
  std::array<Glyph, kCharacters> glyphs;
  for (size_t i = 0; i < kCharacters; ++i) {
    const size_t corner =
        1 + i / kCharactersPerBand * band + i % kCharactersPerBand * (kGlyphColumns + 1);
    int64_t widest = 0;
    for (size_t row = 0; row < kGlyphRows; ++row)
      for (size_t column = 0; column < kGlyphColumns; ++column) {
        const bool ink = kSheet[corner + row * line + column] == '#';
        glyphs[i].ink[row][column] = ink;
        if (ink) widest = std::max(widest, static_cast<int64_t>(column) + 1);
      }
    if (widest > 0) glyphs[i].width = widest;
  }
  return glyphs;
}

/// Our own charts and captions use a few characters outside of ASCII that have a twin inside.
char32_t in_ascii(char32_t code) {
  switch (code) {
    case 0x2212:  // minus
    case 0x2013:  // dashes
    case 0x2014:
      return U'-';
    case 0xd7:  // multiplication sign
      return U'x';
    case 0xa0:  // no-break space
      return U' ';
    default:
      return code;
  }
}

const Glyph& glyph_of(char32_t character) {
  static const std::array<Glyph, kCharacters> glyphs = cut_sheet();
  const char32_t code = in_ascii(character);
  const bool known = code >= kFirstCharacter && code < kUnknownCharacter;
  return glyphs[(known ? code : kUnknownCharacter) - kFirstCharacter];
}

/// Sizes between two multiples of the smallest take the nearer one.
int64_t magnification_of(int64_t size) {
  return std::max<int64_t>(1, (size + kTextSize / 2) / kTextSize);
}

void draw_glyph(Image& image, int64_t top, int64_t left, const Glyph& glyph, int64_t scale,
                Color color) {
  for (int64_t y = 0; y < kGlyphRows * scale; ++y)
    for (int64_t x = 0; x < glyph.width * scale; ++x)
      if (glyph.ink[static_cast<size_t>(y / scale)][static_cast<size_t>(x / scale)])
        blend(image, top + y, left + x, color, 1);
}

class BitmapFont : public Font {
 public:
  explicit BitmapFont(std::string why) : why_(std::move(why)) {}

  TextMetrics metrics(int64_t size) const override {
    const int64_t scale = magnification_of(size);
    return {.ascent = (kCapitalRows + kRowsAbove) * scale,
            .descent = (kGlyphRows - kCapitalRows) * scale,
            .capital = kCapitalRows * scale};
  }

  int64_t width(std::u32string_view text, int64_t size) const override {
    int64_t width = 0;
    for (const char32_t character : text) width += glyph_of(character).width + kSpaceBetween;
    return std::max<int64_t>(width - kSpaceBetween, 0) * magnification_of(size);
  }

  void draw(Image& image, int64_t baseline, int64_t column, std::u32string_view text, int64_t size,
            Color color) const override {
    const int64_t scale = magnification_of(size);
    for (const char32_t character : text) {
      const Glyph& glyph = glyph_of(character);
      draw_glyph(image, baseline - kCapitalRows * scale, column, glyph, scale, color);
      column += (glyph.width + kSpaceBetween) * scale;
    }
  }

  std::string description() const override {
    return "built-in bitmap font, ASCII only" + (why_.empty() ? "" : " (" + why_ + ")");
  }

 private:
  std::string why_;
};

}  // namespace

std::unique_ptr<Font> make_bitmap_font(const std::string& why) {
  return std::make_unique<BitmapFont>(why);
}

}  // namespace facet
