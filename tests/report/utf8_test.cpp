// UTF-8 as characters: what is well formed is read, every broken sequence is one U+FFFD.
#include "facet/report/utf8.h"

#include <gtest/gtest.h>

namespace facet {
namespace {

TEST(Utf8, CharactersOfOneToFourBytes) {
  EXPECT_EQ(decode_utf8(""), U"");
  EXPECT_EQ(decode_utf8("größe → 😀"), U"größe → 😀");
  // The first and the last character of each length.
  EXPECT_EQ(
      decode_utf8("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
      U"\x7f\x80\x7ff\x800\xffff\x10000\x10ffff");
}

TEST(Utf8, ABrokenSequenceIsOneReplacement) {
  const struct {
    const char *bytes, *what;
    std::u32string characters;
  } cases[] = {{"\xff", "a byte that UTF-8 has not", U"\xfffd"},
               {"\x80", "the second byte without the first", U"\xfffd"},
               {"\xc3", "the first byte alone", U"\xfffd"},
               {"a\xc3z", "goes on after it", U"a\xfffdz"},
               {"\xe2\x82", "cut short", U"\xfffd"},
               {"\xe2\x82z", "cut short in the middle", U"\xfffdz"},
               {"\xc0\xaf", "a longer form than needed", U"\xfffd\xfffd"},
               {"\xe0\x80\xaf", "a longer form of three bytes", U"\xfffd\xfffd\xfffd"},
               {"\xed\xa0\x80", "half of a surrogate pair", U"\xfffd\xfffd\xfffd"},
               {"\xf4\x90\x80\x80", "above U+10FFFF", U"\xfffd\xfffd\xfffd\xfffd"},
               {"\xf0\x9f\x98", "three bytes of four", U"\xfffd"}};
  for (const auto& one : cases) EXPECT_EQ(decode_utf8(one.bytes), one.characters) << one.what;
}

TEST(Utf8, AnyBytesAreReadToTheirEnd) {
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second), 'z'};
      const std::u32string characters = decode_utf8(text);
      ASSERT_GE(characters.size(), first < 0xc0 ? 2u : 1u);
      ASSERT_LE(characters.size(), 3u);
      ASSERT_EQ(characters.back(), U'z');
    }
}

/// Shortens to so many characters.
std::string shortened(const std::string& text, size_t most) {
  return shorten(text, [&](const std::string& shown) { return decode_utf8(shown).size() <= most; });
}

TEST(Utf8, ShorteningKeepsWholeCharactersAndTheLongestThatFits) {
  EXPECT_EQ(shortened("größe", 5), "größe");
  EXPECT_EQ(shortened("größer", 5), "gr...");
  EXPECT_EQ(shortened("größere αβγ", 7), "größ...");
  EXPECT_EQ(shortened("größer", 3), "...");
  EXPECT_EQ(shortened("größer", 2), "");
  EXPECT_EQ(shortened("", 0), "");
}

TEST(Utf8, ShorteningLeavesNoSpaceBeforeTheDots) {
  EXPECT_EQ(shortened("two  words", 7), "two...");
  EXPECT_EQ(shortened("two  words", 9), "two  w...");
}

}  // namespace
}  // namespace facet
