// Text in pictures. It is drawn with one font: DejaVu Sans by FreeType, or the file that the
// environment variable FACET_FONT names. A build without FreeType and a machine without DejaVu Sans
// draw with a small bitmap font of our own, which has ASCII only; text_backend() says which it is.
// Letters stand one after the other with kerning, which is enough for left-to-right scripts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "facet/data/image.h"
#include "facet/report/paint.h"

namespace facet {

/// The size of the smallest text in our pictures, in pixels of the em as fonts count.
inline constexpr int64_t kTextSize = 11;

/// Heights of a line of text in pixels, from the baseline that its letters stand on.
struct TextMetrics {
  int64_t ascent = 0;   ///< up to the accent of a capital
  int64_t descent = 0;  ///< down to the foot of a "g"
  int64_t capital = 0;  ///< of a capital; text is centered by it, as few letters go below
  int64_t height() const { return ascent + descent; }
};

class Font {
 public:
  virtual ~Font() = default;
  virtual TextMetrics metrics(int64_t size) const = 0;
  virtual int64_t width(std::u32string_view text, int64_t size) const = 0;
  virtual void draw(Image& image, int64_t baseline, int64_t column, std::u32string_view text,
                    int64_t size, Color color) const = 0;
  /// "DejaVu Sans by FreeType 2.12.1 (/usr/share/...)".
  virtual std::string description() const = 0;
};

/// The font that needs nothing but this library. `why` is added to its description.
std::unique_ptr<Font> make_bitmap_font(const std::string& why);

/// Whether this build can open font files.
bool has_freetype();
/// A TrueType or OpenType file. An Error where it is none, and in a build without FreeType.
std::unique_ptr<Font> open_font(const std::filesystem::path& path);

/// Where DejaVu Sans may be: in the data folders of the XDG standard, by the habits of Debian,
/// Fedora, Arch and others.
std::vector<std::filesystem::path> font_places();

/// The font as this file's opening says it. An Error where FACET_FONT names no font.
std::unique_ptr<Font> choose_font();

/// What text is drawn with, for those who want to know what a build and its machine can do.
std::string text_backend();

// The functions below use the font that choose_font() has given when it was first needed. They take
// UTF-8 and may be called from several threads.

TextMetrics text_metrics(int64_t size = kTextSize);

/// Width in pixels of a line of text.
int64_t text_width(std::string_view text, int64_t size = kTextSize);

/// `text`, or as much of its beginning as fits `width` together with "...", or nothing at all.
std::string shorten_text(std::string_view text, int64_t width, int64_t size = kTextSize);

/// Draws a line of text that stands on the upper edge of row `baseline` and begins at `column`;
/// what falls outside of the image is left out.
void draw_text(Image& image, int64_t baseline, int64_t column, std::string_view text,
               int64_t size = kTextSize, Color color = kInk);

}  // namespace facet
