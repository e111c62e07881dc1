// Charts as pictures: a line's colour is where its values are, higher values stand higher, bands
// are lighter than lines, gaps stay white, and odd values do no harm.
#include "facet/report/plot.h"

#include <limits>

#include <gtest/gtest.h>

namespace facet {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Plot plot_of(const std::vector<PlotLine>& lines) {
  return {.x_title = "components",
          .ticks = {{0, "1"}, {1, "2"}, {2, "4"}},
          .panels = {{.title = "ELBO", .lines = lines}}};
}

/// Whether a pixel is the blue of the first line (#0072b2), as far as it covers the pixel.
bool is_blue(const Image& image, int64_t row, int64_t column) {
  return image.at(0, row, column) < 40 && image.at(2, row, column) > 140;
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
  const Image image = draw_plot(
      plot_of({{"line", {{0, -100, -100, -100}, {1, -95, -95, -95}, {2, -90, -90, -90}}}}));
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
  const Image image = draw_plot(plot_of({{"line", {{0, 5, 2, 8}, {2, 5, 2, 8}}}}));
  int64_t shaded = 0;
  for (int64_t row = 0; row < image.height; ++row) {
    const int64_t column = image.width / 3;
    const bool shade = image.at(2, row, column) > image.at(0, row, column) + 20;
    shaded += shade && !is_blue(image, row, column);
  }
  EXPECT_GT(shaded, 50) << "most of the panel's height";
}

TEST(Plot, AGapStaysWhite) {
  const Image image =
      draw_plot(plot_of({{"line", {{0, 1, 1, 1}, {1, nan, nan, nan}, {2, 1, 1, 1}}}}));
  EXPECT_GT(blue_row(image, 0, image.width / 3), 0);
  EXPECT_EQ(blue_row(image, image.width / 2 - 30, image.width / 2 + 30), -1);
}

TEST(Plot, PanelsStandTwoInARowWithTheLegendBelow) {
  Plot plot = plot_of({{"a", {{0, 1, 1, 1}}}, {"b", {{1, 2, 2, 2}}}});
  const Image one = draw_plot(plot);
  plot.panels.resize(3, plot.panels.front());
  const Image three = draw_plot(plot);
  EXPECT_EQ(three.width, 2 * one.width);
  EXPECT_EQ(three.height, 2 * one.height);
  plot.legend = {"a", "b"};
  EXPECT_GT(draw_plot(plot).height, three.height);
}

TEST(Plot, OddValuesDoNoHarm) {
  const double huge = std::numeric_limits<double>::infinity();
  for (const PlotPoint& point :
       {PlotPoint{0, nan, nan, nan}, PlotPoint{0, huge, huge, huge}, PlotPoint{0, 0, 0, 0}})
    EXPECT_GT(draw_plot(plot_of({{"line", {point}}})).pixels.size(), 0u);
  EXPECT_GT(draw_plot({.panels = {{.title = "nothing"}}}).pixels.size(), 0u);
}

}  // namespace
}  // namespace facet
