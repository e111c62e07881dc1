// Pictures brought to a size, in memory and while they are read.
#include <cmath>
// The second needs what the first declares.
// clang-format off
#include <vips/vips.h>
#include <vips/vector.h>
// clang-format on

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/data/image_file.h"
#include "tests/pictures.h"
#include "tests/temporary_folder.h"
#include "tests/vips_files.h"

namespace facet {
namespace {

/// The mean of the pixels that a pixel of the smaller picture covers; sizes divide each other.
double area_average(const Image& image, const Image& small, int64_t channel, int64_t row,
                    int64_t column) {
  const int64_t step = image.height / small.height;
  double sum = 0;
  for (int64_t y = row * step; y < (row + 1) * step; ++y)
    for (int64_t x = column * step; x < (column + 1) * step; ++x) sum += image.at(channel, y, x);
  return sum / static_cast<double>(step * step);
}

/// Waves of some pixels of the target, and finer ones that are to vanish in it.
Image waves(int64_t channels, int64_t height, int64_t width, double target_pixel) {
  Image image = Image::filled(channels, height, width);
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column) {
        const double x = static_cast<double>(column) / target_pixel;
        const double y = static_cast<double>(row) / target_pixel;
        const double wave =
            50 * std::sin(0.4 * x + static_cast<double>(channel)) * std::cos(0.3 * y);
        const double fine = (row + column) % 2 == 0 ? 20 : -20;
        image.at(channel, row, column) = static_cast<uint8_t>(128 + wave + fine);
      }
  return image;
}

void expect_area_averages(const Image& small, const Image& image, double tolerance) {
  for (int64_t channel = 0; channel < small.channels; ++channel)
    for (int64_t row = 1; row < small.height - 1; ++row)  // at the edge filters see less
      for (int64_t column = 1; column < small.width - 1; ++column)
        ASSERT_NEAR(small.at(channel, row, column),
                    area_average(image, small, channel, row, column), tolerance)
            << channel << " " << row << " " << column;
}

TEST(Resize, TheSameSizeIsTheSameImage) {
  const Image image = gradient(3, 13, 9);
  EXPECT_EQ(resize(image, 13, 9).pixels, image.pixels);
}

TEST(Resize, ShrinkingIsCloseToTheAverageOverAreas) {
  // An average flattens these waves by 2 % more than the filter does: 1 of 50, and rounding.
  const Image image = waves(3, 480, 640, 20);
  expect_area_averages(resize(image, 24, 32), image, 3);
}

TEST(Resize, AFlatImageStaysFlat) {
  const Image image = Image::filled(3, 37, 53, 255);
  for (const int64_t size : {1, 5, 36, 64, 111})
    EXPECT_EQ(resize(image, size, size).pixels, Bytes(static_cast<size_t>(3 * size * size), 255));
}

TEST(Resize, EveryTargetIsMetExactly) {
  for (const int64_t height : {1, 2, 7, 30, 64})
    for (const int64_t width : {1, 3, 8, 31, 100})
      for (const int64_t target : {1, 2, 5, 16, 29, 30, 31, 65, 128}) {
        const Image image = resize(gradient(1, height, width), target, target + 3);
        ASSERT_EQ(image.height, target) << height << " " << width;
        ASSERT_EQ(image.width, target + 3) << height << " " << width;
        ASSERT_EQ(static_cast<int64_t>(image.pixels.size()), target * (target + 3));
      }
}

TEST(Resize, EnlargingKeepsWhatRisesRising) {
  const Image small = gradient(1, 8, 8), large = resize(small, 32, 32);
  for (int64_t row = 4; row < 28; ++row)
    for (int64_t column = 4; column < 28; ++column) {
      ASSERT_GE(large.at(0, row, column), large.at(0, row - 1, column));
      // Each pixel lies in one of the small picture, whose steps are 19 down and 7 across.
      ASSERT_NEAR(large.at(0, row, column), small.at(0, row / 4, column / 4), 15);
    }
}

TEST(Resize, OtherAspectRatiosAreCutAtTheCenter) {
  Image wide = Image::filled(1, 2, 6);
  wide.pixels = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  EXPECT_EQ(resize(wide, 2, 2).pixels, (Bytes{3, 4, 13, 14}));
  Image tall = Image::filled(1, 4, 2);
  tall.pixels = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(resize(tall, 2, 2).pixels, (Bytes{3, 4, 5, 6}));
  Image marked = Image::filled(1, 10, 50);  // ten white columns in the middle
  for (int64_t row = 0; row < 10; ++row)
    for (int64_t column = 20; column < 30; ++column) marked.at(0, row, column) = 255;
  for (const int64_t size : {4, 40}) {
    const Image middle = resize(marked, size, size);
    for (int64_t row = 0; row < size; ++row) {
      EXPECT_GT(middle.at(0, row, size / 2), 250) << size;
      EXPECT_EQ(middle.at(0, row, 0), middle.at(0, row, size - 1)) << size;
    }
  }
}

TEST(Resize, ALongStripIsCutBeforeItIsEnlarged) {
  Image strip = Image::filled(1, 1, 16384, 9);  // which would become 16 million pixels long
  for (int64_t column = 8190; column < 8194; ++column) strip.at(0, 0, column) = 200;
  EXPECT_EQ(resize(strip, 1024, 1024).pixels, Bytes(1024 * 1024, 200));
}

TEST(Resize, AOnePixelImageCanBeEnlarged) {
  EXPECT_EQ(resize(Image::filled(1, 1, 1, 42), 3, 3).pixels, Bytes(9, 42));
}

TEST(Resize, ImpossibleSizesAreErrors) {
  EXPECT_THROW(resize(gradient(3, 4, 4), 0, 4), Error);
  EXPECT_THROW(resize(gradient(3, 4, 4), 4, 100000), Error);
  EXPECT_THROW(resize(Image{}, 4, 4), Error);
}

class ReadToASize : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path file(const Image& image) {
    write_text(folder_ / "picture", file_bytes(image, GetParam()), "test");
    return folder_ / "picture";
  }

  TemporaryFolder folder_;
};

TEST_P(ReadToASize, ALargePictureIsCloseToTheAverageOverAreas) {
  for (const int64_t step : {3, 6, 12, 25}) {  // of which a JPEG is shrunk by 1, 2, 4, 8 when read
    const Image image = waves(3, 24 * step, 32 * step, static_cast<double>(step));
    expect_area_averages(read_image(file(image), 24, 32), image, 6);  // with the format's own loss
  }
}

TEST_P(ReadToASize, IsTheSameAsReadingAndResizing) {
  const Image image = waves(1, 300, 430, 12);
  const auto path = file(image);
  for (const auto& [height, width] :
       {std::pair{20, 20}, {200, 40}, {300, 430}, {64, 400}, {600, 700}})
    expect_near(read_image(path, height, width), resize(read_image(path), height, width), 6);
}

TEST_P(ReadToASize, ImpossibleSizesAreErrors) {
  const auto path = file(gradient(3, 4, 4));
  EXPECT_THROW(read_image(path, 0, 4), Error);
  EXPECT_THROW(read_image(path, 4, 16385), Error);
}

// A crash in one of tens of thousands of pictures is no test: that nothing is compiled, is.
TEST_P(ReadToASize, CompilesNoVectorCodeWhichThreadsMayNotDoAtOnce) {
  read_image(file(gradient(3, 90, 40)), 20, 20);
  EXPECT_FALSE(vips_vector_isenabled());
}

INSTANTIATE_TEST_SUITE_P(ImageRead, ReadToASize,
                         testing::Values(".png", ".png[interlace]", ".jpg[Q=95]",
                                         ".jpg[Q=95,interlace]", ".webp[lossless]", ".webp[Q=95]",
                                         ".tif[compression=deflate]"));

}  // namespace
}  // namespace facet
