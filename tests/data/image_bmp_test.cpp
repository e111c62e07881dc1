#include "facet/data/image_bmp.h"

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/data/image_file.h"
#include "facet/data/image_outline.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

std::string little_endian(int64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}

/// A file with the usual header of 40 bytes; `after` holds masks or a palette.
std::string bmp(int width, int height, int bits, int compression, const std::string& after,
                const std::string& rows) {
  const auto start = static_cast<int64_t>(54 + after.size());
  const std::string size = little_endian(start + static_cast<int64_t>(rows.size()), 4);
  return "BM" + size + little_endian(0, 4) + little_endian(start, 4) + little_endian(40, 4) +
         little_endian(width, 4) + little_endian(height, 4) + little_endian(1, 2) +
         little_endian(bits, 2) + little_endian(compression, 4) + std::string(20, '\0') + after +
         rows;
}

Image read(const std::string& bytes) {
  EXPECT_TRUE(is_bmp(bytes));
  return read_bmp_pixels(bytes, read_bmp_header(bytes));
}

std::string damage_of(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const DamagedImage& damaged) {
    return damaged.damage;
  }
  return "none";
}

TEST(Bmp, RowsOf24BitsComeFromBelowBlueFirstInWholeWords) {
  const std::string rows = "\x01\x02\x03\x04\x05\x06zz\x07\x08\x09\x0a\x0b\x0czz";
  const Image image = read(bmp(2, 2, 24, 0, "", rows));
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(image.pixels, (std::vector<uint8_t>{9, 12, 3, 6, 8, 11, 2, 5, 7, 10, 1, 4}));
  EXPECT_EQ(read(bmp(2, -2, 24, 0, "", rows)).at(0, 0, 0), 3) << "a negative height is top down";
}

TEST(Bmp, PalettesGiveColoursOrGrey) {
  const std::string black_white("\0\0\0\0\xff\xff\xff\0", 8);
  const Image bits = read(bmp(3, 1, 1, 0, black_white, std::string("\xa0\0\0\0", 4)));
  EXPECT_EQ(bits.channels, 1);
  EXPECT_EQ(bits.pixels, (std::vector<uint8_t>{255, 0, 255}));
  std::string palette(64, '\0');
  palette[4] = '\x30';  // blue of colour 1
  const Image nibbles = read(bmp(2, 1, 4, 0, palette, std::string("\x10\0\0\0", 4)));
  EXPECT_EQ(nibbles.pixels, (std::vector<uint8_t>{0, 0, 0, 0, 0x30, 0}));
}

TEST(Bmp, MasksNameTheBitsOfAChannel) {
  EXPECT_EQ(read(bmp(1, 1, 16, 0, "", std::string("\xff\x7f\0\0", 4))).pixels,
            (std::vector<uint8_t>{255, 255, 255}));
  const std::string masks =
      little_endian(0xf800, 4) + little_endian(0x7e0, 4) + little_endian(0x1f, 4);
  EXPECT_EQ(read(bmp(1, 1, 16, 3, masks, std::string("\xe0\x07\0\0", 4))).pixels,
            (std::vector<uint8_t>{0, 255, 0}));
  EXPECT_EQ(read(bmp(1, 1, 32, 0, "", "\x01\x02\x03\x04")).pixels, (std::vector<uint8_t>{3, 2, 1}));
}

TEST(Bmp, EveryTruncationAndOtherKindsAreDamage) {
  const std::string whole = bmp(3, 5, 24, 0, "", std::string(60, 'x'));
  EXPECT_EQ(damage_of(whole), "none");
  for (size_t length = 26; length < whole.size(); ++length)
    EXPECT_NE(damage_of(whole.substr(0, length)), "none") << length;
  EXPECT_NE(damage_of(bmp(2, 2, 8, 1, std::string(1024, 'x'), "")).find("compression 1"),
            std::string::npos);
  EXPECT_NE(damage_of(bmp(0, 2, 24, 0, "", "")), "none");
  EXPECT_FALSE(is_bmp("BMW is a car, and this is a text"));
}

TEST(Bmp, FilesAreReadAndBroughtToASizeLikeOthers) {
  if (message_of(require_image_reader) != "no error")
    GTEST_SKIP() << "this build reads no pictures";
  TemporaryFolder folder;
  write_text(folder / "a.bmp", bmp(4, 4, 24, 0, "", std::string(48, '\x20')), "test");
  EXPECT_EQ(read_image(folder / "a.bmp").pixels, std::vector<uint8_t>(48, 0x20));
  EXPECT_EQ(read_image(folder / "a.bmp", 2, 3).pixels, std::vector<uint8_t>(18, 0x20));
  write_text(folder / "a.bmp", bmp(40000, 1, 24, 0, "", ""), "test");
  EXPECT_NE(message_of([&] { read_image(folder / "a.bmp"); }).find("40000x1"), std::string::npos);
}

}  // namespace
}  // namespace facet
