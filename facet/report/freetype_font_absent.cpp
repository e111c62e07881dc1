// Fonts in a build without FreeType: there are none but the bitmap font.
#include "facet/core/error.h"
#include "facet/report/font.h"

namespace facet {

bool has_freetype() { return false; }

std::unique_ptr<Font> open_font(const std::filesystem::path& path) {
  throw Error({.doing = "opening a font",
               .object = path.string(),
               .found = "a build without FreeType",
               .expected = "FreeType, which reads font files",
               .cause = "without FACET_FONT text is drawn with the built-in bitmap font"});
}

}  // namespace facet
