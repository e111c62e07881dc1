// Text in pictures, with every font that this machine has: widths that are where the ink ends,
// letters that differ, text of any bytes; and which font is chosen.
#include "facet/report/font.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/report/utf8.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

/// Sets a variable of the environment and puts back what was there.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_.empty())
      unsetenv(name_);
    else
      setenv(name_, before_.c_str(), 1);
  }

 private:
  const char* name_;
  std::string before_;
};

/// DejaVu Sans; nothing where FreeType or the font is absent.
std::filesystem::path installed_font() {
  for (const std::filesystem::path& place : font_places())
    if (has_freetype() && std::filesystem::exists(place)) return place;
  return {};
}

/// The columns with ink in rows [top, bottom): from the first to behind the last.
struct Extent {
  int64_t first = -1, end = -1, top = -1, bottom = -1;
};

Extent extent_of(const Image& image, int darkest_white = 255) {
  Extent extent;
  for (int64_t row = 0; row < image.height; ++row)
    for (int64_t column = 0; column < image.width; ++column) {
      if (image.at(0, row, column) >= darkest_white) continue;
      if (extent.first < 0 || column < extent.first) extent.first = column;
      extent.end = std::max(extent.end, column + 1);
      if (extent.top < 0) extent.top = row;
      extent.bottom = row + 1;
    }
  return extent;
}

/// All tests with this parameter run with the bitmap font and, where it is there, with DejaVu Sans.
class EveryFont : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "bitmap") {
      font_ = make_bitmap_font("");
    } else if (const auto path = installed_font(); !path.empty()) {
      font_ = open_font(path);
    } else {
      GTEST_SKIP() << "DejaVu Sans or FreeType is absent";
    }
  }

  static constexpr int64_t kBaseline = 100, kColumn = 20;
  Image drawn(std::u32string_view text, int64_t size) const {
    Image image = Image::filled(1, 200, 900, 255);
    font_->draw(image, kBaseline, kColumn, text, size, kInk);
    return image;
  }

  std::unique_ptr<Font> font_;
};

TEST_P(EveryFont, EveryPrintableCharacterLooksDifferent) {
  std::set<std::vector<uint8_t>> seen;
  for (char32_t c = U' '; c <= U'~'; ++c)
    EXPECT_TRUE(seen.insert(drawn({&c, 1}, kTextSize).pixels).second) << static_cast<char>(c);
}

TEST_P(EveryFont, LettersStayWithinTheHeightsOfTheirLine) {
  for (const int64_t size : {int64_t{9}, kTextSize, 2 * kTextSize, 3 * kTextSize}) {
    const TextMetrics metrics = font_->metrics(size);
    const Extent all = extent_of(drawn(U"ÄÉÅ gjpqy,;_|([{Hxf0123456789", size));
    EXPECT_GE(all.top, kBaseline - metrics.ascent - 1)
        << size << ", and a row for the ring of an Å";
    EXPECT_LE(all.bottom, kBaseline + metrics.descent) << size;
    const Extent capital = extent_of(drawn(U"H", size));
    EXPECT_EQ(capital.top, kBaseline - metrics.capital) << size;
    EXPECT_EQ(capital.bottom, kBaseline) << size << ": it stands on the baseline";
    EXPECT_GT(extent_of(drawn(U"g", size)).bottom, kBaseline) << size;
  }
}

TEST_P(EveryFont, WidthIsWhereTheInkEnds) {
  for (const char32_t* text : {U"Il1", U"mgypq", U"k = 17", U"W", U"größe"})
    for (const int64_t size : {kTextSize, 2 * kTextSize}) {
      const int64_t width = font_->width(text, size);
      const Extent ink = extent_of(drawn(text, size));
      EXPECT_GE(ink.first, kColumn);
      EXPECT_LE(ink.end, kColumn + width);
      // What a font leaves beside its letters is less than a fifth of its size.
      EXPECT_GE(ink.end, kColumn + width - size / 5 - 1);
    }
  EXPECT_EQ(font_->width(U"", kTextSize), 0);
}

TEST_P(EveryFont, LargerSizesAreWider) {
  for (int64_t scale = 1; scale < 5; ++scale)
    EXPECT_NEAR(static_cast<double>(font_->width(U"magnified", scale * kTextSize)),
                static_cast<double>(scale * font_->width(U"magnified", kTextSize)),
                static_cast<double>(scale))
        << "up to rounding";
}

TEST_P(EveryFont, DigitsAreEquallyWideSoThatNumbersAlign) {
  for (char32_t digit = U'0'; digit <= U'9'; ++digit)
    EXPECT_EQ(font_->width({&digit, 1}, kTextSize), font_->width(U"0", kTextSize));
}

TEST_P(EveryFont, AnyBytesAreTextOfSomeWidth) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::u32string text = decode_utf8(std::string(3, static_cast<char>(byte)));
    EXPECT_GE(font_->width(text, kTextSize), 0);
    drawn(text, kTextSize);
  }
  EXPECT_GT(font_->width(decode_utf8("\xff"), kTextSize), 0);
  EXPECT_GT(extent_of(drawn(decode_utf8("\xff"), kTextSize)).end, kColumn) << "a sign is drawn";
}

TEST_P(EveryFont, TextOutsideOfTheImageIsLeftOut) {
  Image image = Image::filled(3, 5, 30, 255);
  font_->draw(image, 20, -12, U"HHHHHHH", 3 * kTextSize, kInk);
  EXPECT_GE(extent_of(image).first, 0) << "a stem of an H crosses it";
  Image empty;
  font_->draw(empty, 0, 0, U"nothing", kTextSize, kInk);
}

TEST_P(EveryFont, DrawsInTheColourGiven) {
  Image image = Image::filled(3, 40, 40, 255);
  font_->draw(image, 30, 5, U"\u2588H", 2 * kTextSize, {10, 200, 30});
  int64_t full = 0;
  for (int64_t row = 0; row < image.height; ++row)
    for (int64_t column = 0; column < image.width; ++column)
      full += image.at(0, row, column) == 10 && image.at(1, row, column) == 200 &&
              image.at(2, row, column) == 30;
  EXPECT_GT(full, 0);
}

TEST_P(EveryFont, SeveralThreadsMayDraw) {
  const std::vector<uint8_t> alone = drawn(U"größe 123", kTextSize).pixels;
  std::vector<std::thread> threads;
  std::array<std::vector<uint8_t>, 4> results;
  for (size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([this, &results, i] {
      for (int64_t size = 9; size < 30; ++size) drawn(U"andere Größe", size);
      results[i] = drawn(U"größe 123", kTextSize).pixels;
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, alone);
}

INSTANTIATE_TEST_SUITE_P(Font, EveryFont, testing::Values("bitmap", "outlines"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(BitmapFont, HasAsciiOnlyAndTwinsOfAFewOthers) {
  const auto font = make_bitmap_font("no reason");
  const auto image = [&](std::u32string_view text) {
    Image drawn = Image::filled(1, 20, 20, 255);
    font->draw(drawn, 15, 2, text, kTextSize, kInk);
    return drawn.pixels;
  };
  EXPECT_EQ(image(U"é"), image(U"\x7f")) << "one box";
  EXPECT_EQ(image(U"€"), image(U"\x7f"));
  EXPECT_EQ(image(U"\u2212"), image(U"-")) << "the minus of our charts";
  EXPECT_EQ(font->width(U"HH", 2 * kTextSize), 2 * font->width(U"HH", kTextSize));
  EXPECT_EQ(font->description(), "built-in bitmap font, ASCII only (no reason)");
}

TEST(OutlineFont, HasLettersOfManyScripts) {
  const auto path = installed_font();
  if (path.empty()) GTEST_SKIP() << "DejaVu Sans or FreeType is absent";
  const auto font = open_font(path);
  const auto image = [&](char32_t character) {
    Image drawn = Image::filled(1, 40, 40, 255);
    font->draw(drawn, 30, 5, {&character, 1}, 2 * kTextSize, kInk);
    return drawn.pixels;
  };
  const std::vector<uint8_t> box = image(U'\uE123');  // of a character that no font has
  std::set<std::vector<uint8_t>> seen;
  for (const char32_t character : std::u32string(U"ößéñαΩЖя→≤∞−×\ufffd")) {
    EXPECT_NE(image(character), box) << static_cast<uint32_t>(character);
    EXPECT_TRUE(seen.insert(image(character)).second) << static_cast<uint32_t>(character);
  }
}

TEST(OutlineFont, EdgesAreAntiAliased) {
  const auto path = installed_font();
  if (path.empty()) GTEST_SKIP() << "DejaVu Sans or FreeType is absent";
  Image image = Image::filled(1, 60, 60, 255);
  open_font(path)->draw(image, 45, 5, U"O", 40, kInk);
  std::set<uint8_t> shades(image.pixels.begin(), image.pixels.end());
  EXPECT_GT(shades.size(), 10u);
}

TEST(FontChoice, TheFileOfTheEnvironmentIsTaken) {
  const auto path = installed_font();
  if (path.empty()) GTEST_SKIP() << "DejaVu Sans or FreeType is absent";
  TemporaryFolder folder;
  std::filesystem::copy_file(path, folder / "other.ttf");
  const Variable variable("FACET_FONT", (folder / "other.ttf").string());
  EXPECT_NE(choose_font()->description().find("other.ttf"), std::string::npos);
}

TEST(FontChoice, AFileThatIsNoFontIsAnErrorThatNamesIt) {
  TemporaryFolder folder;
  std::ofstream(folder / "letter.ttf") << "no font";
  for (const char* name : {"absent.ttf", "letter.ttf", "."}) {
    const Variable variable("FACET_FONT", (folder / name).string());
    const std::string found = message_of([] { choose_font(); });
    EXPECT_NE(found.find(name), std::string::npos) << found;
    EXPECT_NE(found.find("FACET_FONT"), std::string::npos) << found;
  }
}

TEST(FontChoice, DataFoldersAreSearchedAndDamagedFilesPassedOver) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "fonts/TTF");
  std::ofstream(folder / "fonts/TTF/DejaVuSans.ttf") << "damaged";
  const Variable none("FACET_FONT", "");
  const Variable data("XDG_DATA_DIRS", folder.path().string());
  const auto places = font_places();
  EXPECT_NE(std::find(places.begin(), places.end(), folder / "fonts/TTF/DejaVuSans.ttf"),
            places.end());
  const std::string description = choose_font()->description();
  EXPECT_EQ(description.find(folder.path().string()), std::string::npos) << description;
}

TEST(FontChoice, TheBackendSaysWhatItIs) {
  if (installed_font().empty() && std::getenv("FACET_FONT") == nullptr)
    EXPECT_NE(text_backend().find("ASCII only ("), std::string::npos) << text_backend();
  else
    EXPECT_NE(text_backend().find("FreeType"), std::string::npos) << text_backend();
}

TEST(Text, ShortenedTextFitsAndSaysSo) {
  EXPECT_EQ(shorten_text("short", 100), "short");
  EXPECT_EQ(shorten_text("short", text_width("short")), "short");
  const std::string text = "a rather long caption of größe";
  for (int64_t width = 0; width < text_width(text); ++width) {
    const std::string shown = shorten_text(text, width);
    EXPECT_LE(text_width(shown), width);
    if (shown.empty()) {
      EXPECT_LT(width, text_width("..."));
      continue;
    }
    EXPECT_TRUE(shown.ends_with("...")) << shown;
    EXPECT_TRUE(text.starts_with(shown.substr(0, shown.size() - 3))) << shown;
    EXPECT_EQ(decode_utf8(shown).find(kReplacementCharacter), std::u32string::npos)
        << "no character is split";
  }
}

}  // namespace
}  // namespace facet
