// The layout of charts, on a canvas that notes what is drawn: labels stay inside and apart, lines
// are where their values are, dots on the frame are whole.
#include "facet/report/chart_layout.h"

#include <algorithm>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "facet/report/utf8.h"

namespace facet {
namespace {

constexpr Rect kArea = {100, 50, 272, 178};

class NotingCanvas : public Canvas {
 public:
  struct Text {
    double left, right, baseline;
    std::string text;
    Part part;
  };
  struct Mark {
    std::vector<Spot> spots;
    Style style;
    bool clipped;
  };

  double text_width(std::string_view text, Part part) const override {
    return 0.6 * text_size(part) * static_cast<double>(decode_utf8(text).size());
  }
  void polylines(const std::vector<std::vector<Spot>>& pieces, const Style& style) override {
    for (const auto& piece : pieces) lines.push_back({piece, style, clipped_});
  }
  void polygon(const std::vector<Spot>& corners, const Style& style) override {
    areas.push_back({corners, style, clipped_});
  }
  void circle(Spot center, double, const Style& style) override {
    dots.push_back({{center}, style, clipped_});
  }
  void text(Spot spot, Anchor anchor, std::string_view text, Part part) override {
    const double width = text_width(text, part);
    const double left = spot.x - (anchor == Anchor::start    ? 0
                                  : anchor == Anchor::middle ? width / 2
                                                             : width);
    texts.push_back({left, left + width, spot.y, std::string(text), part});
  }
  void image(const Rect&, const Image&) override { ADD_FAILURE() << "charts have no pictures"; }
  void begin_clip(const Rect& rect) override { clip = rect, clipped_ = true; }
  void end_clip() override { clipped_ = false; }

  std::vector<Mark> of(Part part) const {
    std::vector<Mark> found;
    for (const Mark& mark : lines)
      if (mark.style.part == part) found.push_back(mark);
    return found;
  }

  std::vector<Mark> lines, areas, dots;
  std::vector<Text> texts;
  Rect clip;

 private:
  bool clipped_ = false;
};

NotingCanvas drawn(const Chart& chart, bool with_title = false) {
  NotingCanvas canvas;
  draw_chart(canvas, chart, kArea, with_title);
  return canvas;
}

Chart crowded_chart() {
  Chart chart{.title = "A title that is much longer than the chart that it stands above is wide",
              .lines = {{"a", {}}},
              .spans = {{"first", 0, 30}, {"a span too short for its name", 30, 32}},
              .x_title = "an x title that is much longer than the axis that it stands below"};
  for (int i = 0; i < 60; ++i) {
    chart.x_ticks.push_back({double(i), "label " + std::to_string(i)});
    chart.lines[0].points.push_back({double(i), -1e6 * i});
  }
  return chart;
}

TEST(ChartLayout, TextsStayInsideAndApart) {
  const NotingCanvas canvas = drawn(crowded_chart(), true);
  ASSERT_GT(canvas.texts.size(), 8u);
  for (const auto& text : canvas.texts) {
    EXPECT_GE(text.left, kArea.left) << text.text;
    EXPECT_LE(text.right, kArea.right()) << text.text;
    EXPECT_GE(text.baseline, kArea.top) << text.text;
    EXPECT_LE(text.baseline, kArea.bottom()) << text.text;
    for (const auto& other : canvas.texts)
      EXPECT_TRUE(&other == &text || std::abs(other.baseline - text.baseline) >= 8 ||
                  other.right < text.left || other.left > text.right)
          << text.text << " and " << other.text;
  }
  EXPECT_EQ(canvas.of(Part::tick).size(), 60u) << "a label is left out, its tick is not";
}

TEST(ChartLayout, RoomIsTakenOnlyByWhatIsThere) {
  Chart chart{.title = "t", .lines = {{"a", {{0, 1}, {1, 2}}}}};
  const double plain = drawn(chart).clip.height;
  EXPECT_LT(drawn(chart, true).clip.height, plain);
  Chart spanned = chart, titled = chart;
  spanned.spans = {{"s", 0, 1}};
  titled.x_title = "x";
  EXPECT_LT(drawn(spanned).clip.height, plain);
  EXPECT_LT(drawn(titled).clip.height, plain);
}

TEST(ChartLayout, LinesAreWhereTheirValuesAre) {
  const NotingCanvas canvas =
      drawn({.title = "t", .lines = {{"a", {{0, 0}, {5, 100}, {10, 50}}}}, .from_zero = true});
  const auto lines = canvas.of(Part::line);
  ASSERT_EQ(lines.size(), 1u);
  const Rect& frame = canvas.clip;
  EXPECT_DOUBLE_EQ(lines[0].spots[0].x, frame.left);
  EXPECT_DOUBLE_EQ(lines[0].spots[0].y, frame.bottom());
  EXPECT_DOUBLE_EQ(lines[0].spots[1].x, frame.left + frame.width / 2);
  EXPECT_DOUBLE_EQ(lines[0].spots[2].x, frame.right());
  EXPECT_NEAR(lines[0].spots[2].y, frame.bottom() - 50 / 105.0 * frame.height, 1e-9)
      << "with a margin of a twentieth above";
}

TEST(ChartLayout, DotsOnTheFrameAreWholeAndOutsideValuesHaveNone) {
  Chart chart{.title = "t", .lines = {{"a", {}}}};
  for (int i = 0; i < 12; ++i) chart.lines[0].points.push_back({double(i), i == 0 ? -9000.0 : i});
  const NotingCanvas canvas = drawn(chart);
  ASSERT_EQ(canvas.dots.size(), 11u) << "one value lies outside";
  for (const auto& dot : canvas.dots) {
    EXPECT_FALSE(dot.clipped);
    EXPECT_GE(dot.spots[0].y, canvas.clip.top);
    EXPECT_LE(dot.spots[0].y, canvas.clip.bottom());
  }
  for (const auto& line : canvas.of(Part::line)) EXPECT_TRUE(line.clipped);
}

TEST(ChartLayout, ABandGoesAlongTheHighsAndBackAlongTheLows) {
  const NotingCanvas canvas =
      drawn({.title = "t", .lines = {{"a", {{0, 5, 0, 10}, {1, 5, 2, 8}}}}, .whole = true});
  ASSERT_EQ(canvas.areas.size(), 1u);
  const auto& corners = canvas.areas[0].spots;
  ASSERT_EQ(corners.size(), 4u);
  EXPECT_LT(corners[0].y, corners[1].y) << "10 stands above 8";
  EXPECT_LT(corners[1].y, corners[2].y) << "8 above 2";
  EXPECT_LT(corners[2].y, corners[3].y) << "2 above 0";
  EXPECT_EQ(corners[0].x, corners[3].x);
  EXPECT_GE(corners[0].y, canvas.clip.top) << "the axis covers the band";
  EXPECT_LE(corners[3].y, canvas.clip.bottom());
  EXPECT_EQ(canvas.of(Part::line).size(), 3u) << "the line, and a stroke over the band at each dot";
}

TEST(ChartLayout, AnAxisFromZeroOfZerosHasSomeLength) {
  const Chart chart{.title = "t", .lines = {{"a", {{0, 0}, {1, 0}}}}, .from_zero = true};
  EXPECT_EQ(value_range(chart).low, 0);
  EXPECT_EQ(value_range(chart).high, 1);
}

TEST(ChartLayout, SpansAreNamedWhereTheirNameFits) {
  const NotingCanvas canvas = drawn(crowded_chart());
  int64_t names = 0;
  for (const auto& text : canvas.texts) names += text.part == Part::span_name;
  EXPECT_EQ(names, 1);
  EXPECT_EQ(canvas.of(Part::span).size(), 2u)
      << "a line where a span begins, for ticks leave room before the first";
}

}  // namespace
}  // namespace facet
