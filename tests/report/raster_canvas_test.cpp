// Marks as pixels: what a mark covers, added up over its pixels, is its area; joints do not show;
// dashes and clips leave out what they should.
#include "facet/report/raster_canvas.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "facet/report/font.h"

namespace facet {
namespace {

constexpr double kScale = 2;
constexpr Style kFirstLine = {Part::line, 0, 0};

Image blank() { return Image::filled(3, 120, 160, 255); }

/// The area that a mark of the first line's colour covers, in pixels. Red is told apart best: it
/// goes from 255 to 0.
double covered(const Image& image) {
  double sum = 0;
  for (int64_t row = 0; row < image.height; ++row)
    for (int64_t column = 0; column < image.width; ++column)
      sum += 1 - image.at(0, row, column) / 255.0;
  return sum;
}

TEST(RasterCanvas, AStrokeCoversLengthTimesWidth) {
  const auto area = [](Spot from, Spot to) {
    Image image = blank();
    RasterCanvas(image, kScale).line(from, to, kFirstLine);
    return covered(image);
  };
  // Two lengths, so that width and round ends need not be known: the ends cancel.
  for (const Spot way : {Spot{30, 0}, Spot{0, 30}, Spot{18, 24}}) {
    const double one = area({10, 10.25}, {10 + way.x, 10.25 + way.y});
    const double half = area({10, 10.25}, {10 + way.x / 2, 10.25 + way.y / 2});
    const double width = (one - half) / 30;  // 15 units are 30 pixels
    EXPECT_NEAR(width, 2.7, 0.1) << way.x << " across, " << way.y << " down";
  }
}

TEST(RasterCanvas, AnAreaCoversWhatItIs) {
  const struct {
    std::vector<Spot> corners;
    double area;  // in square units
  } cases[] = {{{{10, 10}, {40, 10}, {40, 30}, {10, 30}}, 600},
               {{{10.3, 10.2}, {40.7, 10.2}, {40.7, 30.9}, {10.3, 30.9}}, 30.4 * 20.7},
               {{{10, 10}, {50, 10}, {30, 45}}, 700},
               {{{10, 10}, {30, 30}, {50, 10}, {50, 50}, {10, 50}}, 1200}};  // not convex
  for (const auto& one : cases) {
    Image image = blank();
    RasterCanvas(image, kScale).polygon(one.corners, {Part::band, 0});
    const double expected = one.area * kScale * kScale * kBandOpacity;
    EXPECT_NEAR(covered(image), expected, 0.01 * expected);
  }
}

TEST(RasterCanvas, ACircleIsRound) {
  Image image = blank();
  RasterCanvas(image, kScale).circle({30.2, 30.4}, 10, {Part::dot, 0});
  const double expected = std::numbers::pi * 20 * 20;
  EXPECT_NEAR(covered(image), expected, 0.01 * expected);
}

TEST(RasterCanvas, JointsOfALineDoNotShow) {
  Image one = blank(), many = blank();
  RasterCanvas(one, kScale).line({5, 10}, {65, 40}, kFirstLine);
  std::vector<Spot> spots;
  for (int i = 0; i <= 90; ++i) spots.push_back({5 + 60 * i / 90.0, 10 + 30 * i / 90.0});
  RasterCanvas(many, kScale).polylines({spots}, kFirstLine);
  for (size_t i = 0; i < one.pixels.size(); ++i) ASSERT_NEAR(one.pixels[i], many.pixels[i], 1);
}

TEST(RasterCanvas, PiecesAreNotJoined) {
  Image image = blank();
  RasterCanvas(image, kScale).polylines({{{5, 10}, {20, 10}}, {{60, 10}, {75, 10}}}, kFirstLine);
  EXPECT_LT(image.at(0, 20, 30), 50);
  EXPECT_EQ(image.at(0, 20, 80), 255);
  EXPECT_LT(image.at(0, 20, 130), 50);
}

TEST(RasterCanvas, DashesCoverTheirShareAndGoOnAroundCorners) {
  // As one long stroke and as many short ones.
  std::vector<Spot> zigzag;
  for (int i = 0; i <= 14; ++i) zigzag.push_back({5.0 + 5 * i, i % 2 == 0 ? 20.0 : 22.0});
  for (const std::vector<Spot>& spots : {std::vector<Spot>{{5, 20}, {75, 20}}, zigzag}) {
    Image solid = blank(), dashed = blank();
    RasterCanvas(solid, kScale).polylines({spots}, kFirstLine);
    RasterCanvas(dashed, kScale).polylines({spots}, {Part::line, 0, 1});
    // Strokes of 7 and gaps of 3; round ends make a stroke a little shorter in area.
    EXPECT_NEAR(covered(dashed) / covered(solid), 0.7, 0.05);
  }
}

TEST(RasterCanvas, TinyAndEmptyMarksDoNoHarm) {
  Image image = blank();
  RasterCanvas canvas(image, kScale);
  for (size_t dash = 0; dash < kDashes.size(); ++dash) {
    canvas.polylines({{{5, 5}, {5, 5}}, {{7, 7}}, {}}, {Part::line, 0, dash});
    canvas.polylines({}, {Part::line, 0, dash});
  }
  canvas.polygon({}, {Part::band, 0});
  canvas.polygon({{1, 1}}, {Part::band, 0});
  EXPECT_LT(covered(image), 20);
  Image nothing;
  RasterCanvas(nothing, kScale).line({0, 0}, {10, 10}, kFirstLine);
}

TEST(RasterCanvas, AClipCutsOffAllMarksUntilItEnds) {
  Image image = blank();
  RasterCanvas canvas(image, kScale);
  canvas.begin_clip({20, 20, 20, 10});
  canvas.line({-500, 25}, {500, 25}, kFirstLine);
  canvas.polygon({{0, 0}, {80, 0}, {80, 60}, {0, 60}}, {Part::band, 0});
  canvas.circle({20, 20}, 5, {Part::dot, 0});
  for (int64_t row = 0; row < image.height; ++row)
    for (int64_t column = 0; column < image.width; ++column) {
      const bool inside = row >= 40 && row < 60 && column >= 40 && column < 80;
      ASSERT_TRUE(inside || image.at(0, row, column) == 255) << row << " " << column;
    }
  EXPECT_LT(image.at(0, 50, 60), 50);
  canvas.end_clip();
  canvas.line({0, 5}, {80, 5}, kFirstLine);
  EXPECT_LT(image.at(0, 10, 10), 50);
}

TEST(RasterCanvas, TextStandsByItsAnchor) {
  const auto middle_of_ink = [](Anchor anchor) {
    Image image = blank();
    RasterCanvas canvas(image, kScale);
    canvas.text({40, 30}, anchor, "HHH", Part::label);
    double sum = 0, count = 0;
    for (int64_t row = 0; row < image.height; ++row)
      for (int64_t column = 0; column < image.width; ++column)
        if (image.at(0, row, column) < 128) sum += static_cast<double>(column), ++count;
    return sum / count / kScale - 40;
  };
  Image image;
  const double half = RasterCanvas(image, kScale).text_width("HHH", Part::label) / 2;
  EXPECT_NEAR(middle_of_ink(Anchor::start), half, 1);
  EXPECT_NEAR(middle_of_ink(Anchor::middle), 0, 1);
  EXPECT_NEAR(middle_of_ink(Anchor::end), -half, 1);
}

}  // namespace
}  // namespace facet
