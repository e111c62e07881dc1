#include "facet/report/font.h"

#include <cstdlib>

#include "facet/core/error.h"
#include "facet/report/utf8.h"

namespace facet {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The folders that fonts lie below, the user's own first.
std::vector<std::filesystem::path> data_folders() {
  std::vector<std::filesystem::path> folders;
  if (const std::string own = environment("XDG_DATA_HOME"); !own.empty())
    folders.push_back(own);
  else if (const std::string home = environment("HOME"); !home.empty())
    folders.push_back(std::filesystem::path(home) / ".local/share");
  std::string shared = environment("XDG_DATA_DIRS");
  if (!shared.empty()) shared += ':';
  shared += "/usr/local/share:/usr/share";  // also where a desktop's list leaves them out
  for (size_t begin = 0; begin <= shared.size();) {
    const size_t end = std::min(shared.find(':', begin), shared.size());
    if (end > begin) folders.push_back(shared.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

const Font& active_font() {
  static const std::unique_ptr<Font> font = choose_font();
  return *font;
}

}  // namespace

std::vector<std::filesystem::path> font_places() {
  std::vector<std::filesystem::path> places;
  for (const std::filesystem::path& folder : data_folders())
    for (const char* below : {"fonts/truetype/dejavu", "fonts/dejavu-sans-fonts", "fonts/dejavu",
                              "fonts/TTF", "fonts/truetype", "fonts"})
      places.push_back(folder / below / "DejaVuSans.ttf");
  return places;
}

std::unique_ptr<Font> choose_font() {
  if (const std::string named = environment("FACET_FONT"); !named.empty()) return open_font(named);
  if (!has_freetype()) return make_bitmap_font("built without FreeType");
  for (const std::filesystem::path& place : font_places()) {
    std::error_code unreadable;
    if (!std::filesystem::exists(place, unreadable)) continue;
    try {
      return open_font(place);
    } catch (const Error&) {
      // A damaged file that nobody has asked for: there may be a good one elsewhere.
    }
  }
  return make_bitmap_font("DejaVu Sans is not installed");
}

std::string text_backend() { return active_font().description(); }

TextMetrics text_metrics(int64_t size) { return active_font().metrics(size); }

int64_t text_width(std::string_view text, int64_t size) {
  return active_font().width(decode_utf8(text), size);
}

std::string shorten_text(std::string_view text, int64_t width, int64_t size) {
  return shorten(text, [&](const std::string& shown) { return text_width(shown, size) <= width; });
}

void draw_text(Image& image, int64_t baseline, int64_t column, std::string_view text, int64_t size,
               Color color) {
  active_font().draw(image, baseline, column, decode_utf8(text), size, color);
}

}  // namespace facet
