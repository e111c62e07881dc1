// What is read of good files: every format, and everything that is brought to 8 bits of grey or
// sRGB on white, upright.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/data/image_file.h"
#include "tests/jpeg.h"
#include "tests/message_of.h"
#include "tests/pictures.h"
#include "tests/png.h"
#include "tests/temporary_folder.h"
#include "tests/vips_files.h"

namespace facet {
namespace {

Image decode(const std::string& bytes) { return decode_image(bytes, "picture"); }

std::string make_jpeg(const Image& image, bool progressive) {
  return encode_jpeg({image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB, progressive}, image.height,
                     image.width, interleaved(image));
}

VipsImage* tagged(VipsImage* picture, const char* profile) {
  VipsBlob* blob = nullptr;
  if (vips_profile_load(profile, &blob, nullptr) != 0) throw std::runtime_error("no profile");
  size_t size = 0;
  const void* data = vips_blob_get(blob, &size);
  VipsImage* result = changed(vips_copy, picture);
  vips_image_set_blob_copy(result, VIPS_META_ICC_NAME, data, size);
  vips_area_unref(VIPS_AREA(blob));
  return result;
}

struct Case {
  const char* suffix;
  int64_t channels;
  int tolerance;  ///< 0 where nothing may be lost
};

class EveryFormat : public testing::TestWithParam<Case> {};

TEST_P(EveryFormat, IsReadAsItWasWritten) {
  const Image image = gradient(GetParam().channels, 24, 40);
  const std::string bytes = file_bytes(image, GetParam().suffix);
  if (bytes.empty()) GTEST_SKIP() << "this libvips writes no " << GetParam().suffix;
  expect_near(decode(bytes), image, GetParam().tolerance);
  // Told apart by content: the name says nothing.
  const TemporaryFolder folder;
  write_text(folder / "a.dat", bytes, "test");
  EXPECT_EQ(read_image(folder / "a.dat").pixels, decode(bytes).pixels);
  EXPECT_EQ(read_image(folder / "a.dat", 24, 40).pixels, decode(bytes).pixels);
}

INSTANTIATE_TEST_SUITE_P(
    ImageRead, EveryFormat,
    testing::Values(Case{".png", 1, 0}, Case{".png", 3, 0}, Case{".png[interlace]", 3, 0},
                    Case{".jpg[Q=98]", 1, 6}, Case{".jpg[Q=98]", 3, 6},
                    Case{".jpg[Q=98,interlace]", 3, 6}, Case{".webp[lossless]", 3, 0},
                    Case{".webp[Q=98]", 3, 8}, Case{".tif", 1, 0}, Case{".tif", 3, 0},
                    Case{".tif[compression=deflate]", 3, 0}, Case{".tif[compression=lzw]", 1, 0},
                    Case{".tif[compression=jpeg,Q=98]", 3, 6}, Case{".tif[bigtiff]", 3, 0},
                    Case{".tif[tile,tile_width=16,tile_height=16]", 3, 0},
                    Case{".heic[Q=98]", 3, 8}));

TEST(ImageRead, AGifHasTheColoursOfItsPalette) {
  Image image = Image::filled(3, 6, 8, 255);  // of four colours
  for (int64_t column = 0; column < 8; ++column) {
    image.at(0, 1, column) = 0;
    image.at(1, 2, column) = 17;
    image.at(2, 3, column) = 90;
  }
  expect_near(decode(file_bytes(image, ".gif[dither=0]")), image, 0);
}

TEST(ImageRead, OfSeveralPagesTheFirstIsRead) {
  const Image first = Image::filled(3, 12, 10, 250), second = Image::filled(3, 12, 10, 10);
  for (const char* suffix : {".gif", ".webp[lossless]", ".tif"}) {
    VipsImage* pages[] = {vips_picture(first), vips_picture(second)};
    VipsImage* joined = nullptr;
    ASSERT_EQ(vips_arrayjoin(pages, &joined, 2, "across", 1, nullptr), 0);
    VipsImage* document = changed(vips_copy, joined);
    vips_image_set_int(document, VIPS_META_PAGE_HEIGHT, 12);
    const std::string bytes = file_bytes(document, suffix);
    for (VipsImage* page : pages) g_object_unref(page);
    expect_near(decode(bytes), first, 0);
    EXPECT_GT(bytes.size(), file_bytes(first, suffix).size()) << "both pages are in the file";
  }
}

TEST(ImageRead, JpegIsReadUpToItsOwnLoss) {
  // A smooth picture at quality 98: rounding and halved color resolution cost a few steps of 255.
  for (const bool progressive : {false, true})
    for (const int64_t channels : {1, 3})
      expect_near(decode(make_jpeg(gradient(channels, 20, 24), progressive)),
                  gradient(channels, 20, 24), 6);
}

TEST(ImageRead, PaletteBecomesRgb) {
  const PngKind kind{.color_type = PNG_COLOR_TYPE_PALETTE,
                     .bit_depth = 2,
                     .palette = {{255, 0, 0}, {0, 128, 255}, {9, 9, 9}}};
  EXPECT_EQ(decode(make_png(kind, 3, {{0b00'01'10'00}})).pixels,
            (Bytes{255, 0, 9, 0, 128, 9, 0, 255, 9}));
}

TEST(ImageRead, TransparentPaletteEntriesAreLaidOnWhite) {
  const PngKind kind{.color_type = PNG_COLOR_TYPE_PALETTE,
                     .palette = {{200, 0, 0}, {0, 100, 0}},
                     .palette_alpha = {0, 255}};
  EXPECT_EQ(decode(make_png(kind, 2, {{0, 1}})).pixels, (Bytes{255, 0, 255, 100, 255, 0}));
}

TEST(ImageRead, SixteenBitsAreRoundedToEight) {
  const Image grey = decode(make_png({.bit_depth = 16}, 3, {{0, 0, 0x0a, 0xd2, 0xff, 0xff}}));
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.pixels, (Bytes{0, 11, 255}));  // 0x0ad2 / 257 is 10.8
  Bytes row, values;                            // v in 8 bits is 257 v in 16, both bytes the same
  for (int v = 0; v < 256; ++v) {
    row.insert(row.end(), 2, static_cast<uint8_t>(v));
    values.push_back(static_cast<uint8_t>(v));
  }
  EXPECT_EQ(decode(make_png({.bit_depth = 16}, 256, {row})).pixels, values);
  const PngKind with_alpha{.color_type = PNG_COLOR_TYPE_RGB_ALPHA, .bit_depth = 16};
  const Image colors = decode(make_png(
      with_alpha, 2, {{0x0a, 0xd2, 20, 0, 30, 0, 0xff, 0xff, 0x0a, 0xd2, 20, 0, 30, 0, 0, 0}}));
  EXPECT_EQ(colors.pixels, (Bytes{11, 255, 20, 255, 30, 255}));
}

TEST(ImageRead, FewerBitsAreSpreadOverTheWholeRange) {
  EXPECT_EQ(decode(make_png({.bit_depth = 1}, 4, {{0b0110'0000}})).pixels, (Bytes{0, 255, 255, 0}));
}

TEST(ImageRead, AlphaIsLaidOnWhite) {
  const PngKind grey{.color_type = PNG_COLOR_TYPE_GRAY_ALPHA};
  const Image laid = decode(make_png(grey, 3, {{100, 255, 100, 0, 100, 51}}));
  EXPECT_EQ(laid.channels, 1);
  EXPECT_EQ(laid.pixels, (Bytes{100, 255, 224}));  // 100 * 0.2 + 255 * 0.8
  const PngKind color{.color_type = PNG_COLOR_TYPE_RGB_ALPHA};
  const std::string png = make_png(color, 2, {{10, 20, 30, 255, 10, 20, 30, 0}});
  const Bytes expected = {10, 255, 20, 255, 30, 255};
  EXPECT_EQ(decode(png).pixels, expected);
  for (const char* suffix : {".webp[lossless]", ".tif", ".gif[dither=0]"}) {
    VipsImage* picture = nullptr;
    ASSERT_EQ(vips_pngload_buffer(const_cast<char*>(png.data()), png.size(), &picture, nullptr), 0);
    const Image image = decode(file_bytes(picture, suffix));
    ASSERT_EQ(image.pixels.size(), expected.size()) << suffix;
    for (size_t i = 0; i < expected.size(); ++i)  // a palette of a GIF is rounded
      EXPECT_NEAR(image.pixels[i], expected[i], 2) << suffix << " " << i;
  }
}

TEST(ImageRead, InksOfACmykJpegBecomeColours) {
  // Such files hold what is left of the paper: 255 is no ink.
  const auto printed = [](uint8_t cyan, uint8_t magenta, uint8_t yellow, uint8_t black) {
    Bytes inks;
    for (int i = 0; i < 16 * 16; ++i) inks.insert(inks.end(), {cyan, magenta, yellow, black});
    const Image image = decode(encode_jpeg({.color_space = JCS_CMYK}, 16, 16, inks));
    EXPECT_EQ(image.channels, 3);
    return Bytes{image.at(0, 8, 8), image.at(1, 8, 8), image.at(2, 8, 8)};
  };
  for (const uint8_t value : printed(255, 255, 255, 255)) EXPECT_GT(value, 250);
  for (const uint8_t value : printed(0, 0, 0, 0)) EXPECT_LT(value, 30);
  const Bytes cyan = printed(0, 255, 255, 255);
  EXPECT_LT(cyan[0], 100);
  EXPECT_GT(cyan[1], 120);
  EXPECT_GT(cyan[2], 180);
}

TEST(ImageRead, ColourSpacesOfTiffBecomeSrgb) {
  const Image image = gradient(3, 12, 10);
  for (const VipsInterpretation space :
       {VIPS_INTERPRETATION_LAB, VIPS_INTERPRETATION_RGB16, VIPS_INTERPRETATION_scRGB}) {
    const std::string bytes =
        file_bytes(changed(vips_colourspace, vips_picture(image), space), ".tif");
    ASSERT_FALSE(bytes.empty());
    expect_near(decode(bytes), image, 1);  // rounded twice
  }
}

double decoded(double value) {  // the sRGB curve, which Display P3 shares
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}
double encoded(double value) {
  return value <= 0.0031308 ? value * 12.92 : 1.055 * std::pow(value, 1 / 2.4) - 0.055;
}

TEST(ImageRead, TheEmbeddedProfileSaysWhatColoursMean) {
  Image image = Image::filled(3, 16, 16);
  const double stored[] = {180, 120, 60};
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(stored[i / 256]);
  // Display P3 to sRGB in linear light (SMPTE EG 432-1 and IEC 61966-2-1, both with white D65).
  const double matrix[3][3] = {
      {1.2249, -0.2247, 0.0}, {-0.0420, 1.0419, 0.0}, {-0.0197, -0.0786, 1.0979}};
  for (const char* suffix : {".png", ".tif", ".webp[lossless]", ".jpg[Q=100]"}) {
    const Image read = decode(file_bytes(tagged(vips_picture(image), "p3"), suffix));
    for (int64_t channel = 0; channel < 3; ++channel) {
      double sum = 0;
      for (int64_t from = 0; from < 3; ++from)
        sum += matrix[channel][from] * decoded(stored[from] / 255);
      EXPECT_NEAR(read.at(channel, 8, 8), 255 * encoded(sum), 3) << suffix << " " << channel;
    }
  }
}

/// A profile of greys that are linear in light: a header, and a table of two entries.
std::string linear_grey_profile() {
  const std::string white = "XYZ " + big_endian(0) + big_endian(0xf6d6) + big_endian(0x10000) +
                            big_endian(0xd32d);                      // D50
  const std::string curve = "curv" + big_endian(0) + big_endian(0);  // the identity
  const std::string table = big_endian(2) + "wtpt" + big_endian(156) + big_endian(20) + "kTRC" +
                            big_endian(176) + big_endian(12);
  std::string header = big_endian(188) + big_endian(0) + big_endian(0x02100000) + "mntrGRAYXYZ " +
                       std::string(12, '\1') + "acsp" + std::string(28, '\0');
  header += white.substr(8) + std::string(48, '\0');
  return header + table + white + curve;
}

TEST(ImageRead, AGreyProfileLeavesGreyGrey) {
  const std::string profile = linear_grey_profile();
  for (const bool with_alpha : {false, true}) {
    VipsImage* picture = vips_picture(Image::filled(1, 8, 8, 55));
    if (with_alpha) picture = changed(vips_addalpha, picture);
    VipsImage* profiled = changed(vips_copy, picture);
    vips_image_set_blob_copy(profiled, VIPS_META_ICC_NAME, profile.data(), profile.size());
    const Image read = decode(file_bytes(profiled, ".tif"));
    EXPECT_EQ(read.channels, 1);
    EXPECT_NEAR(read.at(0, 4, 4), 255 * encoded(55 / 255.0), 2) << with_alpha;
  }
}

TEST(ImageRead, AProfileThatDoesNotFitIsIgnored) {
  const Image grey = gradient(1, 12, 10), colors = gradient(3, 12, 10);
  expect_near(decode(file_bytes(tagged(vips_picture(grey), "srgb"), ".tif")), grey, 0);
  expect_near(decode(file_bytes(tagged(vips_picture(colors), "cmyk"), ".tif")), colors, 0);
  VipsImage* broken = changed(vips_copy, vips_picture(colors));
  const std::string profile = std::string(16, 'x') + "RGB " + std::string(200, 'x');
  vips_image_set_blob_copy(broken, VIPS_META_ICC_NAME, profile.data(), profile.size());
  expect_near(decode(file_bytes(broken, ".tif")), colors, 1);  // taken for sRGB, and rounded
}

/// What a camera stores, by the meaning that EXIF gives to orientations 1 to 8: `upright` is what
/// is to be seen.
uint8_t stored_value(const Image& upright, int orientation, int64_t row, int64_t column) {
  const int64_t last_row = upright.height - 1, last_column = upright.width - 1;
  switch (orientation) {
    case 2:
      return upright.at(0, row, last_column - column);
    case 3:
      return upright.at(0, last_row - row, last_column - column);
    case 4:
      return upright.at(0, last_row - row, column);
    case 5:
      return upright.at(0, column, row);
    case 6:
      return upright.at(0, column, last_column - row);
    case 7:
      return upright.at(0, last_row - column, last_column - row);
    case 8:
      return upright.at(0, last_row - column, row);
    default:
      return upright.at(0, row, column);
  }
}

TEST(ImageRead, PicturesAreTurnedUprightAsTheCameraSays) {
  const Image upright = gradient(1, 24, 40);
  const TemporaryFolder folder;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const bool turned = orientation >= 5;
    Image stored = Image::filled(1, turned ? 40 : 24, turned ? 24 : 40);
    for (int64_t row = 0; row < stored.height; ++row)
      for (int64_t column = 0; column < stored.width; ++column)
        stored.at(0, row, column) = stored_value(upright, orientation, row, column);
    for (const char* suffix : {".jpg[Q=98]", ".tif", ".webp[lossless]"}) {
      VipsImage* picture = vips_picture(stored);
      vips_image_set_int(picture, VIPS_META_ORIENTATION, orientation);
      const std::string bytes = file_bytes(picture, suffix);
      SCOPED_TRACE(std::string(suffix) + " " + std::to_string(orientation));
      expect_near(with_channels(decode(bytes), 1), upright, 6);
      write_text(folder / "a", bytes, "test");
      expect_near(with_channels(read_image(folder / "a", 6, 20), 1), resize(upright, 6, 20), 6);
    }
  }
}

TEST(ImageRead, AQuarterTurnIsKnownBeforeAPictureIsShrunk) {
  Image upright = gradient(1, 24, 40);  // of the full height nothing may be lost
  for (size_t i = 0; i < upright.pixels.size(); i += 3) upright.pixels[i] = 250;
  Image stored = Image::filled(1, 40, 24);
  for (int64_t row = 0; row < 40; ++row)
    for (int64_t column = 0; column < 24; ++column)
      stored.at(0, row, column) = stored_value(upright, 6, row, column);
  VipsImage* picture = vips_picture(stored);
  vips_image_set_int(picture, VIPS_META_ORIENTATION, 6);
  const TemporaryFolder folder;
  write_text(folder / "a", file_bytes(picture, ".tif"), "test");
  expect_near(read_image(folder / "a", 24, 6), resize(upright, 24, 6), 0);
}

TEST(ImageRead, APngMayBeTurnedToo) {
  // One entry of EXIF: tag 0x0112, one short, the value 3, upside down.
  using namespace std::string_literals;
  const std::string exif = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0"s;
  const Image image = gradient(3, 9, 8);
  std::string png = encode_png(image);
  png.insert(33, png_chunk("eXIf", exif));  // after the header
  Image turned = image;
  for (int64_t channel = 0; channel < 3; ++channel)
    std::reverse(turned.pixels.begin() + channel * 72, turned.pixels.begin() + (channel + 1) * 72);
  expect_near(decode(png), turned, 0);
}

TEST(ImageRead, StrangeTagsAreNoDamage) {
  // Libraries warn of them, each time that they read the header.
  const Image image = gradient(3, 12, 10);
  std::string jpeg = encode_jpeg(image);
  ASSERT_EQ(jpeg.substr(6, 4), "JFIF");
  jpeg.replace(13, 5, std::string("\x09\0\x02\0\x02", 5));  // densities of an unknown unit
  expect_near(decode(jpeg), decode(encode_jpeg(image)), 0);
  std::string tiff = file_bytes(image, ".tif");
  const size_t unit = tiff.find(std::string("\x28\x01\x03\0\x01\0\0\0", 8));
  ASSERT_NE(unit, std::string::npos);
  tiff[unit] = '\x30';  // a tag that nobody knows
  expect_near(decode(tiff), image, 0);
}

TEST(ImageRead, NumbersThatAreNoColoursAreRefused) {
  const auto refusal = [](VipsImage* picture) {
    const std::string bytes = file_bytes(picture, ".tif");
    return message_of([&] { decode(bytes); });
  };
  const Image grey = gradient(1, 6, 5);
  EXPECT_NE(refusal(changed(vips_cast_float, vips_picture(grey)))
                .find("1 values per pixel, of type float"),
            std::string::npos);
  VipsImage* layers[] = {vips_picture(grey), vips_picture(grey), vips_picture(grey),
                         vips_picture(grey), vips_picture(grey), vips_picture(grey)};
  VipsImage* joined = nullptr;
  ASSERT_EQ(vips_bandjoin(layers, &joined, 6, nullptr), 0);
  EXPECT_NE(refusal(joined).find("values per pixel, of type uchar"), std::string::npos);
  for (VipsImage* layer : layers) g_object_unref(layer);
}

}  // namespace
}  // namespace facet
