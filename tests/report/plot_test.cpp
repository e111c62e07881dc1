// Charts as pictures: a line's colour is where its values are, higher values stand higher, bands
// are lighter than lines, gaps stay white, and odd values do no harm.
#include "facet/report/plot.h"

#include <limits>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "tests/report/drawings.h"

namespace facet {
namespace {

ChartSheet sheet_of(const std::vector<ChartLine>& lines) {
  return {.charts = {{.title = "ELBO",
                      .lines = lines,
                      .x_ticks = {{0, "1"}, {1, "2"}, {2, "4"}},
                      .x_title = "components"}}};
}

/// The mean row of the blue pixels in a range of columns, or -1 where there is none.
double blue_row(const Image& image, int64_t first, int64_t last) {
  double sum = 0, count = 0;
  for (int64_t row = 0; row < image.height; ++row)
    for (int64_t column = first; column < last; ++column)
      if (is_blue(image, row, column)) sum += static_cast<double>(row), ++count;
  return count > 0 ? sum / count : -1;
}

TEST(Plot, HigherValuesStandHigher) {
  const Image image = draw_plot(sheet_of({{"line", {{0, -100}, {1, -95}, {2, -90}}}}));
  EXPECT_EQ(image.channels, 3);
  const int64_t third = image.width / 3;
  const double left = blue_row(image, 0, third), middle = blue_row(image, third, 2 * third),
               right = blue_row(image, 2 * third, image.width);
  ASSERT_GT(left, 0);
  ASSERT_GT(right, 0);
  EXPECT_GT(left, middle);
  EXPECT_GT(middle, right);
}

TEST(Plot, ABandIsALighterShadeOfItsLine) {
  const Image image = draw_plot(sheet_of({{"line", {{0, 5, 2, 8}, {2, 5, 2, 8}}}}));
  int64_t shaded = 0;
  for (int64_t row = 0; row < image.height; ++row) {
    const int64_t column = image.width / 3;
    const bool shade = image.at(2, row, column) > image.at(0, row, column) + 20;
    shaded += shade && !is_blue(image, row, column);
  }
  EXPECT_GT(shaded, 50) << "most of the panel's height";
}

TEST(Plot, AGapStaysWhite) {
  const Image image = draw_plot(sheet_of({{"line", {{0, 1}, {1, kNan}, {2, 1}}}}));
  EXPECT_GT(blue_row(image, 0, image.width / 3), 0);
  EXPECT_EQ(blue_row(image, image.width / 2 - 30, image.width / 2 + 30), -1);
}

TEST(Plot, ChartsStandTwoInARowWithTheLegendBelow) {
  ChartSheet sheet = sheet_of({{"a", {{0, 1}}}, {"b", {{1, 2}}}});
  const Image one = draw_plot(sheet);
  sheet.charts.resize(3, sheet.charts.front());
  const Image three = draw_plot(sheet);
  EXPECT_EQ(three.width, 2 * one.width);
  EXPECT_EQ(three.height, 2 * one.height);
  sheet.legend = {"a", "b"};
  const Image named = draw_plot(sheet);
  EXPECT_GT(named.height, three.height);
  sheet.legend = {std::string(200, 'a'), std::string(200, 'b')};
  EXPECT_GT(draw_plot(sheet).height, named.height) << "names too long to stand side by side";
  EXPECT_EQ(draw_plot(sheet).width, named.width);
}

TEST(Plot, SpansAreMarkedAndNamed) {
  const auto ink = [](const Image& image) {
    int64_t count = 0;
    for (const uint8_t value : image.pixels) count += value < 200;
    return count;
  };
  Chart chart{.title = "ELBO", .lines = {{"line", {{0, 1}, {10, 2}}}}};
  const Image plain = draw_plot({.charts = {chart}});
  chart.spans = {{"pretrain", 0, 5}, {"joint", 5, 10}};
  EXPECT_GT(ink(draw_plot({.charts = {chart}})), ink(plain) + 100);
}

TEST(Plot, OddValuesDoNoHarm) {
  const double huge = std::numeric_limits<double>::infinity();
  for (const ChartPoint& point :
       {ChartPoint{0, kNan}, ChartPoint{0, huge, huge, huge}, ChartPoint{0, 0, 0, 0},
        ChartPoint{0, 1, kNan, 2}, ChartPoint{kNan, 1}, ChartPoint{0, 1e308, -1e308, 1e308}})
    EXPECT_GT(draw_plot(sheet_of({{"line", {point}}})).pixels.size(), 0u);
  EXPECT_GT(draw_plot({.charts = {{.title = "nothing"}}}).pixels.size(), 0u);
  EXPECT_THROW(draw_plot({}), Error);
}

}  // namespace
}  // namespace facet
