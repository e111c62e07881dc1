#include "facet/data/image_file.h"

#include <cstdio>
#include <cstdlib>
#include <png.h>
#include <random>
#include <zlib.h>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "tests/jpeg.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

using Bytes = std::vector<uint8_t>;

Image gradient(int64_t channels, int64_t height, int64_t width) {
  Image image = Image::filled(channels, height, width);
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column)
        image.at(channel, row, column) =
            static_cast<uint8_t>((row * 150 / height + column * 50 / width + channel * 20));
  return image;
}

struct PngKind {
  int color_type = PNG_COLOR_TYPE_GRAY;
  int bit_depth = 8;
  int interlace = PNG_INTERLACE_NONE;
  std::vector<png_color> palette;
  Bytes palette_alpha;
};

/// A PNG of any kind from rows as they lie in the file.
std::string make_png(const PngKind& kind, int64_t width, std::vector<Bytes> rows) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp to, png_bytep data, size_t size) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char*>(data), size);
  };
  png_set_write_fn(png, &bytes, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(rows.size()),
               kind.bit_depth, kind.color_type, kind.interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty())
    png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
  if (!kind.palette_alpha.empty())
    png_set_tRNS(png, info, kind.palette_alpha.data(), static_cast<int>(kind.palette_alpha.size()),
                 nullptr);
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (Bytes& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

Bytes interleaved(const Image& image) {
  Bytes values;
  for (int64_t row = 0; row < image.height; ++row)
    for (int64_t column = 0; column < image.width; ++column)
      for (int64_t channel = 0; channel < image.channels; ++channel)
        values.push_back(image.at(channel, row, column));
  return values;
}

std::string make_jpeg(const Image& image, bool progressive = false) {
  return encode_jpeg({image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB, progressive}, image.height,
                     image.width, interleaved(image));
}

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

/// A PNG whose header promises another size, with the checksum set right.
std::string with_size(std::string png, uint32_t width, uint32_t height) {
  png.replace(16, 8, big_endian(width) + big_endian(height));
  const auto* header = reinterpret_cast<const Bytef*>(png.data() + 12);
  return png.replace(29, 4, big_endian(static_cast<uint32_t>(crc32(0, header, 17))));
}

/// A colour that changes slowly, so that a JPEG keeps it.
Image gentle(int64_t channels) {
  Image image = Image::filled(channels, 24, 40);
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t row = 0; row < 24; ++row)
      for (int64_t column = 0; column < 40; ++column)
        image.at(channel, row, column) =
            static_cast<uint8_t>(60 + 3 * row + 2 * column + 10 * channel);
  return image;
}

class ImageFile : public testing::Test {
 protected:
  /// The name says nothing on purpose: kinds are told apart by content.
  Image read(const std::string& bytes) {
    write_text(path_, bytes, "test");
    return read_image(path_);
  }

  void expect_message(const std::string& bytes, const std::string& part) {
    try {
      read(bytes);
      ADD_FAILURE() << "no error, expected one with: " << part;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(part), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }

  void expect_every_truncation_fails(const std::string& bytes) {
    ASSERT_NO_THROW(read(bytes));
    for (size_t length = 0; length < bytes.size(); ++length)
      EXPECT_THROW(read(bytes.substr(0, length)), Error) << length << " of " << bytes.size();
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "picture.dat";
};

void expect_near(const Image& actual, const Image& expected, int tolerance) {
  ASSERT_EQ(actual.channels, expected.channels);
  ASSERT_EQ(actual.height, expected.height);
  ASSERT_EQ(actual.width, expected.width);
  for (size_t i = 0; i < expected.pixels.size(); ++i)
    ASSERT_NEAR(actual.pixels[i], expected.pixels[i], tolerance) << "value " << i;
}

TEST_F(ImageFile, AJpegIsTheSameToTheEyeAndAPngToTheBit) {
  for (const int64_t channels : {1, 3}) {
    const Image image = gentle(channels);
    const Image back = read(encode_jpeg(image));
    ASSERT_EQ(back.channels, channels);
    ASSERT_EQ(back.pixels.size(), image.pixels.size());
    for (size_t i = 0; i < image.pixels.size(); ++i)  // quality 90 quantizes in steps of a few
      ASSERT_NEAR(back.pixels[i], image.pixels[i], 6) << i;
    TemporaryFolder folder;
    write_picture(folder / "a.jpg", image);
    write_picture(folder / "a.png", image);
    EXPECT_EQ(read_text(folder / "a.jpg", "test"), encode_jpeg(image));
    write_picture(folder / "A.JPG", image);
    EXPECT_EQ(read_text(folder / "A.JPG", "test"), encode_jpeg(image));
    EXPECT_EQ(read_image(folder / "a.png").pixels, image.pixels);
  }
}

TEST_F(ImageFile, PngRoundTripIsExact) {
  for (const int64_t channels : {1, 3}) {
    const Image image = gradient(channels, 7, 5);
    write_png(folder_ / "a.png", image);
    expect_near(read_image(folder_ / "a.png"), image, 0);
    EXPECT_EQ(read_text(folder_ / "a.png", "test"), encode_png(image));
  }
}

TEST_F(ImageFile, PaletteBecomesRgb) {
  const PngKind kind{.color_type = PNG_COLOR_TYPE_PALETTE,
                     .bit_depth = 2,
                     .palette = {{255, 0, 0}, {0, 128, 255}, {9, 9, 9}}};
  EXPECT_EQ(read(make_png(kind, 3, {{0b00'01'10'00}})).pixels,
            (Bytes{255, 0, 9, 0, 128, 9, 0, 255, 9}));
}

TEST_F(ImageFile, TransparentPaletteEntriesAreLaidOnWhite) {
  const PngKind kind{.color_type = PNG_COLOR_TYPE_PALETTE,
                     .palette = {{200, 0, 0}, {0, 100, 0}},
                     .palette_alpha = {0, 255}};
  EXPECT_EQ(read(make_png(kind, 2, {{0, 1}})).pixels, (Bytes{255, 0, 255, 100, 255, 0}));
}

TEST_F(ImageFile, SixteenBitsAreRoundedToEight) {
  const Image image = read(make_png({.bit_depth = 16}, 3, {{0, 0, 0x0a, 0xd2, 0xff, 0xff}}));
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.pixels, (Bytes{0, 11, 255}));  // 0x0ad2 / 257 is 10.8
}

TEST_F(ImageFile, FewerBitsAreSpreadOverTheWholeRange) {
  EXPECT_EQ(read(make_png({.bit_depth = 1}, 4, {{0b0110'0000}})).pixels, (Bytes{0, 255, 255, 0}));
}

TEST_F(ImageFile, AlphaIsLaidOnWhite) {
  const PngKind grey{.color_type = PNG_COLOR_TYPE_GRAY_ALPHA};
  const Image laid = read(make_png(grey, 3, {{100, 255, 100, 0, 100, 51}}));
  EXPECT_EQ(laid.channels, 1);
  EXPECT_EQ(laid.pixels, (Bytes{100, 255, 224}));  // 100 * 0.2 + 255 * 0.8

  const PngKind color{.color_type = PNG_COLOR_TYPE_RGB_ALPHA};
  const Image rgb = read(make_png(color, 2, {{10, 20, 30, 255, 10, 20, 30, 0}}));
  EXPECT_EQ(rgb.channels, 3);
  EXPECT_EQ(rgb.pixels, (Bytes{10, 255, 20, 255, 30, 255}));
}

TEST_F(ImageFile, InterlacedPngIsTheSamePicture) {
  const Image image = gradient(1, 11, 9);
  std::vector<Bytes> rows;
  for (int64_t row = 0; row < image.height; ++row)
    rows.emplace_back(image.pixels.begin() + row * 9, image.pixels.begin() + (row + 1) * 9);
  expect_near(read(make_png({.interlace = PNG_INTERLACE_ADAM7}, 9, rows)), image, 0);
}

TEST_F(ImageFile, JpegIsReadUpToItsOwnLoss) {
  // A smooth picture at quality 98: rounding and halved color resolution cost a few steps of 255.
  for (const bool progressive : {false, true}) {
    expect_near(read(make_jpeg(gradient(1, 20, 24), progressive)), gradient(1, 20, 24), 6);
    expect_near(read(make_jpeg(gradient(3, 20, 24), progressive)), gradient(3, 20, 24), 6);
  }
}

TEST_F(ImageFile, CmykJpegIsRefusedByName) {
  expect_message(encode_jpeg({.color_space = JCS_CMYK}, 8, 8, Bytes(8 * 8 * 4, 50)), "CMYK");
}

TEST_F(ImageFile, OtherFilesAreRefused) {
  expect_message("", "an empty file");
  expect_message("GIF89a and so on", "expected a PNG or JPEG file");
  EXPECT_THROW(read_image(folder_ / "absent.png"), Error);
  EXPECT_THROW(read_image(folder_.path()), Error);
}

TEST_F(ImageFile, EveryTruncationOfAPngIsAnError) {
  expect_every_truncation_fails(encode_png(gradient(3, 9, 8)));
  expect_every_truncation_fails(encode_png(gradient(1, 9, 8)));
}

TEST_F(ImageFile, APngWithoutItsEndMarkIsAnError) {
  const std::string bytes = encode_png(gradient(3, 9, 8));
  ASSERT_EQ(bytes.substr(bytes.size() - 8, 4), "IEND");
  expect_message(bytes.substr(0, bytes.size() - 12), "the file ends too early");
}

TEST_F(ImageFile, EveryTruncationOfAJpegIsAnError) {
  expect_every_truncation_fails(make_jpeg(gradient(3, 17, 20)));
  expect_every_truncation_fails(make_jpeg(gradient(1, 17, 20)));
  expect_every_truncation_fails(make_jpeg(gradient(3, 17, 20), true));
}

TEST_F(ImageFile, AFlippedByteOfAPngIsAlwaysAnError) {
  const std::string bytes = encode_png(gradient(3, 9, 8));
  std::mt19937 random(3);
  for (int trial = 0; trial < 400; ++trial) {
    std::string damaged = bytes;
    const size_t position = random() % damaged.size();
    damaged[position] ^= static_cast<char>(1 + random() % 255);
    EXPECT_THROW(read(damaged), Error) << position;  // its checksums leave no byte out
  }
}

TEST_F(ImageFile, AFlippedByteOfAJpegIsAnErrorOrAWholePicture) {
  for (const bool progressive : {false, true}) {
    const std::string bytes = make_jpeg(gradient(3, 17, 20), progressive);
    std::mt19937 random(4);
    int errors = 0;
    for (int trial = 0; trial < 400; ++trial) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
      try {
        const Image image = read(damaged);
        EXPECT_EQ(static_cast<int64_t>(image.pixels.size()),
                  image.channels * image.height * image.width);
      } catch (const Error&) {
        ++errors;
      }
    }
    EXPECT_GT(errors, 50);
  }
}

TEST_F(ImageFile, HeadersThatPromiseTooMuchAreRefusedBeforeMemoryIsTaken) {
  const std::string png = encode_png(gradient(3, 9, 8));
  ASSERT_NO_THROW(read(with_size(png, 8, 9)));
  expect_message(with_size(png, 16384, 16384), "promises 16384 x 16384");
  expect_message(with_size(png, 16385, 1), "1 to 16384 a side");
  EXPECT_THROW(read(with_size(png, 0, 9)), Error);
  EXPECT_THROW(read(with_size(png, 0xffffffff, 0xffffffff)), Error);

  std::string jpeg = make_jpeg(gradient(3, 17, 20));
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\x40\x00\x40\x00", 4);
  expect_message(jpeg, "promises 16384 x 16384");
  jpeg.replace(frame + 5, 4, "\xff\x00\x40\x00", 4);
  expect_message(jpeg, "1 to 16384 a side");
}

TEST_F(ImageFile, AJpegThatRepeatsItsScansToWasteTimeIsRefused) {
  const std::vector<jpeg_scan_info> scans = {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0}};
  const std::string bytes =
      encode_jpeg({.color_space = JCS_GRAYSCALE, .scans = scans}, 16, 16, Bytes(16 * 16, 99));
  ASSERT_NO_THROW(read(bytes));
  const size_t last_scan = bytes.rfind("\xff\xda"), end = bytes.size() - 2;
  std::string repeated = bytes.substr(0, end);
  for (int i = 0; i < 600; ++i) repeated += bytes.substr(last_scan, end - last_scan);
  expect_message(repeated + bytes.substr(end), "more than 500 scans");
}

TEST_F(ImageFile, AFailedWriteLeavesNothing) {
  EXPECT_THROW(write_png(folder_ / "absent" / "a.png", gradient(3, 2, 2)), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent"));
}

TEST_F(ImageFile, WhatIsNoImageCannotBeWritten) {
  EXPECT_THROW(encode_png(Image{}), Error);
  EXPECT_THROW(encode_png(Image::filled(2, 3, 3)), Error);
  Image image = Image::filled(3, 3, 3);
  image.pixels.pop_back();
  EXPECT_THROW(encode_png(image), Error);
}

TEST(Resize, TheSameSizeIsTheSameImage) {
  const Image image = gradient(3, 13, 9);
  EXPECT_EQ(resize(image, 13, 9).pixels, image.pixels);
}

TEST(Resize, ShrinkingByAWholeFactorAveragesBlocks) {
  Image image = Image::filled(1, 2, 4);
  image.pixels = {0, 10, 100, 100, 20, 30, 200, 202};
  EXPECT_EQ(resize(image, 1, 2).pixels, (Bytes{15, 151}));  // 15 and 150.5
}

/// Averages by cutting every pixel into as many small ones as make the sizes divide each other.
double sliced_average(const Image& image, int64_t height, int64_t width, int64_t row,
                      int64_t column) {
  double sum = 0;
  for (int64_t y = row * image.height; y < (row + 1) * image.height; ++y)
    for (int64_t x = column * image.width; x < (column + 1) * image.width; ++x)
      sum += image.at(0, y / height, x / width);
  return sum / static_cast<double>(image.height * image.width);
}

TEST(Resize, ShrinkingByABrokenFactorWeighsPixelsByTheirShare) {
  const Image image = gradient(1, 15, 20);
  const Image small = resize(image, 6, 8);
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t column = 0; column < 8; ++column)
      EXPECT_NEAR(small.at(0, row, column), sliced_average(image, 6, 8, row, column), 0.5001);
}

TEST(Resize, EnlargingInterpolatesBetweenPixelCenters) {
  Image image = Image::filled(1, 2, 2);
  image.pixels = {0, 100, 0, 100};
  const Image large = resize(image, 4, 4);
  for (int64_t row = 0; row < 4; ++row)
    EXPECT_EQ(Bytes(large.pixels.begin() + row * 4, large.pixels.begin() + row * 4 + 4),
              (Bytes{0, 25, 75, 100}));
}

TEST(Resize, AFlatImageStaysFlat) {
  const Image image = Image::filled(3, 37, 53, 255);
  for (const int64_t size : {1, 5, 36, 64, 111})
    EXPECT_EQ(resize(image, size, size).pixels, Bytes(static_cast<size_t>(3 * size * size), 255));
}

TEST(Resize, OtherAspectRatiosAreCutAtTheCenter) {
  Image wide = Image::filled(1, 2, 6);
  wide.pixels = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  EXPECT_EQ(resize(wide, 2, 2).pixels, (Bytes{3, 4, 13, 14}));
  Image tall = Image::filled(1, 4, 2);
  tall.pixels = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(resize(tall, 2, 2).pixels, (Bytes{3, 4, 5, 6}));
}

TEST(Resize, AOnePixelImageCanBeEnlarged) {
  EXPECT_EQ(resize(Image::filled(1, 1, 1, 42), 3, 3).pixels, Bytes(9, 42));
}

TEST(Resize, ImpossibleSizesAreErrors) {
  EXPECT_THROW(resize(gradient(3, 4, 4), 0, 4), Error);
  EXPECT_THROW(resize(gradient(3, 4, 4), 4, 100000), Error);
  EXPECT_THROW(resize(Image{}, 4, 4), Error);
}

}  // namespace
}  // namespace facet
