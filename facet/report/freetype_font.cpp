// Fonts by FreeType. Letters are hinted in the vertical alone, which sharpens baselines and stems
// of "e" and "t" but leaves the widths as the designer has them, and are placed at fractions of a
// pixel. A face of FreeType's may be used by one thread at a time, hence the mutex.
#include <algorithm>
#include <ft2build.h>
#include <mutex>

#include <fmt/format.h>
#include FT_FREETYPE_H
#include FT_ADVANCES_H
#include FT_OUTLINE_H

#include "facet/core/error.h"
#include "facet/report/font.h"

namespace facet {
namespace {

constexpr FT_Pos kUnits = 64;  // FreeType's to a pixel
constexpr FT_Int32 kLoadFlags = FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP;

struct LibraryCloser {
  void operator()(FT_Library library) const { FT_Done_FreeType(library); }
};
struct FaceCloser {
  void operator()(FT_Face face) const { FT_Done_Face(face); }
};
using Library = std::unique_ptr<FT_LibraryRec_, LibraryCloser>;
using Face = std::unique_ptr<FT_FaceRec_, FaceCloser>;

[[noreturn]] void fail(const std::filesystem::path& path, std::string found) {
  throw Error({.doing = "opening a font",
               .object = path.string(),
               .found = std::move(found),
               .expected = "a TrueType or OpenType font",
               .cause = "FACET_FONT names the font of pictures; without it that is DejaVu Sans"});
}

/// Rounded down, for negative numbers too.
int64_t whole_pixels(FT_Pos units) { return (units - (units & (kUnits - 1))) / kUnits; }

int64_t pixels_up(FT_Pos units) { return whole_pixels(units + kUnits - 1); }

class FreeTypeFont : public Font {
 public:
  explicit FreeTypeFont(const std::filesystem::path& path) : path_(path) {
    FT_Library library = nullptr;
    if (FT_Init_FreeType(&library) != 0) fail(path, "a FreeType that does not start");
    library_.reset(library);
    FT_Face face = nullptr;
    if (!std::filesystem::is_regular_file(path)) fail(path, "no file");
    if (const FT_Error error = FT_New_Face(library, path.c_str(), 0, &face); error != 0)
      fail(path, fmt::format("a file that FreeType cannot read (error {})", error));
    face_.reset(face);
    if (!FT_IS_SCALABLE(face)) fail(path, "letters of fixed sizes");
    if (FT_Select_Charmap(face, FT_ENCODING_UNICODE) != 0) fail(path, "no table of Unicode");
  }

  TextMetrics metrics(int64_t size) const override {
    const std::lock_guard lock(mutex_);
    set_size(size);
    const FT_Size_Metrics& heights = face_->size->metrics;
    TextMetrics metrics{.ascent = pixels_up(heights.ascender),
                        .descent = pixels_up(-heights.descender),
                        .capital = (7 * size + 5) / 10};
    if (const FT_UInt index = FT_Get_Char_Index(face_.get(), U'H');
        index != 0 && FT_Load_Glyph(face_.get(), index, kLoadFlags) == 0)
      metrics.capital = pixels_up(face_->glyph->metrics.horiBearingY);
    return metrics;
  }

  int64_t width(std::u32string_view text, int64_t size) const override {
    const std::lock_guard lock(mutex_);
    set_size(size);
    return pixels_up(place(text, [](FT_UInt, FT_Pos) {}));
  }

  void draw(Image& image, int64_t baseline, int64_t column, std::u32string_view text, int64_t size,
            Color color) const override {
    const std::lock_guard lock(mutex_);
    set_size(size);
    place(text, [&](FT_UInt index, FT_Pos pen) {
      if (render(index, pen)) lay_over(image, baseline, column + whole_pixels(pen), color);
    });
  }

  std::string description() const override {
    FT_Int major = 0, minor = 0, patch = 0;
    FT_Library_Version(library_.get(), &major, &minor, &patch);
    return fmt::format("{} by FreeType {}.{}.{} ({})",
                       face_->family_name == nullptr ? "a font" : face_->family_name, major, minor,
                       patch, path_.string());
  }

 private:
  void set_size(int64_t size) const {
    FT_Set_Pixel_Sizes(face_.get(), 0, static_cast<FT_UInt>(std::clamp<int64_t>(size, 1, 4096)));
  }

  /// Calls `visit(glyph, pen)` for each character, with its place in 64ths of a pixel, and returns
  /// where the last one ends. A character that the font has not is its glyph 0, a box.
  template <typename Visit>
  FT_Pos place(std::u32string_view text, Visit&& visit) const {
    FT_Pos pen = 0;
    FT_UInt before = 0;
    for (const char32_t character : text) {
      const FT_UInt index = FT_Get_Char_Index(face_.get(), character);
      FT_Vector kerning{};
      if (before != 0 && FT_HAS_KERNING(face_.get()) &&
          FT_Get_Kerning(face_.get(), before, index, FT_KERNING_UNFITTED, &kerning) == 0)
        pen += kerning.x;
      visit(index, pen);
      FT_Fixed advance = 0;  // in 65536ths, without hinting: FreeType reads it from a table
      if (FT_Get_Advance(face_.get(), index, FT_LOAD_NO_HINTING, &advance) == 0)
        pen += advance / (65536 / kUnits);
      before = index;
    }
    return pen;
  }

  /// Renders a glyph, moved by the fraction of its place, into the face's slot.
  bool render(FT_UInt index, FT_Pos pen) const {
    if (FT_Load_Glyph(face_.get(), index, kLoadFlags) != 0) return false;
    FT_GlyphSlot slot = face_->glyph;
    if (slot->format != FT_GLYPH_FORMAT_OUTLINE) return false;
    FT_Outline_Translate(&slot->outline, pen & (kUnits - 1), 0);
    return FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL) == 0 &&
           slot->bitmap.pixel_mode == FT_PIXEL_MODE_GRAY;
  }

  void lay_over(Image& image, int64_t baseline, int64_t column, Color color) const {
    const FT_GlyphSlot slot = face_->glyph;
    const FT_Bitmap& bitmap = slot->bitmap;
    for (int64_t y = 0; y < bitmap.rows; ++y)
      for (int64_t x = 0; x < bitmap.width; ++x)
        if (const uint8_t covered = bitmap.buffer[y * bitmap.pitch + x]; covered > 0)
          blend(image, baseline - slot->bitmap_top + y, column + slot->bitmap_left + x, color,
                covered / 255.0);
  }

  std::filesystem::path path_;
  Library library_;
  Face face_;  // after the library, so that it goes before it
  mutable std::mutex mutex_;
};

}  // namespace

bool has_freetype() { return true; }

std::unique_ptr<Font> open_font(const std::filesystem::path& path) {
  return std::make_unique<FreeTypeFont>(path);
}

}  // namespace facet
