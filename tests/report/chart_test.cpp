// Charts: round ticks that cover the range, labels that tell them apart, lines that break at gaps,
// outliers left outside, long lines kept short, hostile names escaped.
#include "facet/report/chart.h"

#include <cmath>
#include <limits>
#include <regex>

#include <gtest/gtest.h>

#include "tests/contains.h"
#include "tests/report/drawings.h"
#include "tests/report/well_formed.h"

namespace facet {
namespace {

/// The path of the chart's only line.
std::string path_of(const std::string& svg) {
  std::smatch match;
  EXPECT_TRUE(std::regex_search(svg, match, std::regex("class=\"line\"[^>]* d=\"([^\"]*)\"")))
      << svg;
  return match[1];
}

TEST(Chart, TicksAreRoundAndWithinTheRange) {
  EXPECT_EQ(round_ticks(0, 10, 6), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(-739, 2230, 5), (std::vector<double>{0, 1000, 2000}));
  const std::pair<double, double> ranges[] = {{0, 1},       {-5302.7, 2230}, {1e-5, 1e-3},
                                              {93.1, 93.2}, {-1e12, 1e12},   {0.0099, 0.0101}};
  for (const auto& [low, high] : ranges) {
    const std::vector<double> ticks = round_ticks(low, high, 6);
    ASSERT_GE(ticks.size(), 2u) << low << " to " << high;
    EXPECT_LE(ticks.size(), 6u);
    const double step = ticks[1] - ticks[0],
                 leading = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
    EXPECT_TRUE(std::abs(leading - 1) < 1e-6 || std::abs(leading - 2) < 1e-6 ||
                std::abs(leading - 5) < 1e-6)
        << step;
    for (const double tick : ticks) {
      EXPECT_GE(tick, low - 1e-6 * (high - low));
      EXPECT_LE(tick, high + 1e-6 * (high - low));
    }
  }
  EXPECT_TRUE(round_ticks(1, 1, 6).empty());
  EXPECT_TRUE(round_ticks(kNan, 1, 6).empty());
  EXPECT_TRUE(round_ticks(-1e308, 1e308, 6).empty()) << "a range that overflows";
}

TEST(Chart, TickLabelsHaveTheDigitsOfTheirStep) {
  EXPECT_EQ(tick_label(2000, 1000), "2,000");
  EXPECT_EQ(tick_label(-500, 500),
            "\xe2\x88\x92"
            "500");
  EXPECT_EQ(tick_label(0.25, 0.05), "0.25");
  EXPECT_EQ(tick_label(0.5, 0.1), "0.5");
  EXPECT_EQ(tick_label(1e-17, 0.1), "0");
  EXPECT_EQ(tick_label(2e-6, 1e-6), "2e-6");
}

TEST(Chart, NumbersForReadersHaveSomeFourDigits) {
  EXPECT_EQ(number_label(2205.427), "2,205");
  EXPECT_EQ(number_label(-93.19),
            "\xe2\x88\x92"
            "93.19");
  EXPECT_EQ(number_label(8), "8");
  EXPECT_EQ(number_label(0.0123), "0.0123");
  EXPECT_EQ(number_label(2e-5), "2e-5");
}

TEST(Chart, GapsInterruptALine) {
  const Chart chart{.title = "t", .lines = {{"a", {{0, 1}, {1, 2}, {2, kNan}, {3, 1}, {4, 5}}}}};
  const std::string path = path_of(chart_svg(chart));
  EXPECT_EQ(count_of(path, "M"), 2u) << path;
  EXPECT_EQ(count_of(path, "L"), 2u) << path;
}

TEST(Chart, ValuesFarOffAreLeftOutsideAndSaidSo) {
  Chart chart{.title = "t", .lines = {{"a", {}}}};
  for (int i = 0; i < 100; ++i)
    chart.lines[0].points.push_back({double(i), i == 0 ? -9000.0 : 10.0 + i});
  EXPECT_NE(chart_legend(chart).find("lowest \xe2\x88\x92"
                                     "9,000"),
            std::string::npos)
      << chart_legend(chart);
  EXPECT_EQ(chart_svg(chart).find("8,000"), std::string::npos) << "no tick down there";
  chart.whole = true;
  EXPECT_EQ(chart_legend(chart).find("outside"), std::string::npos);
  EXPECT_NE(chart_svg(chart).find("8,000"), std::string::npos);
  // What merely grows is all inside.
  for (ChartPoint& point : chart.lines[0].points) point.y = point.x;
  chart.whole = false;
  EXPECT_EQ(chart_legend(chart).find("outside"), std::string::npos);
}

TEST(Chart, LongLinesAreShortenedWithoutLosingAnExcursion) {
  Chart chart{.title = "t", .lines = {{"a", {}}}, .whole = true};
  for (int i = 0; i < 100000; ++i)
    chart.lines[0].points.push_back({double(i), i == 77777 ? 50.0 : std::sin(i * 1e-3)});
  const std::string path = path_of(chart_svg(chart));
  EXPECT_LT(path.size(), 6000u);
  double top = 1e9;
  const std::regex point("[ML]([-0-9.]+) ([-0-9.]+)");
  for (std::sregex_iterator at(path.begin(), path.end(), point), end; at != end; ++at)
    top = std::min(top, std::stod((*at)[2]));
  EXPECT_LT(top, 15) << "the single high value reaches the top";
}

TEST(Chart, FewPointsShowAsDots) {
  Chart chart{.title = "t", .lines = {{"a", {{0, 1}, {1, 2}}}}};
  EXPECT_EQ(count_of(chart_svg(chart), "<circle"), 2u);
  for (int i = 2; i < 40; ++i) chart.lines[0].points.push_back({double(i), 1});
  EXPECT_EQ(count_of(chart_svg(chart), "<circle"), 0u);
}

TEST(Chart, APointBetweenGapsIsADotAlsoInALongLine) {
  Chart chart{.title = "t", .lines = {{"a", {}}}};
  for (int i = 0; i < 40; ++i)
    chart.lines[0].points.push_back({double(i), i == 20 || i == 22 ? kNan : 1.0});
  EXPECT_EQ(count_of(chart_svg(chart), "<circle"), 1u);
}

TEST(Chart, ABandIsAnAreaAndInterruptedWithItsLine) {
  const Chart chart{
      .title = "t",
      .lines = {{"a", {{0, 1, 0, 2}, {1, 2, 1, 3}, {2, kNan}, {3, 1, 0, 2}, {4, 5, 4, 6}}}}};
  const std::string svg = chart_svg(chart);
  EXPECT_EQ(count_of(svg, "class=\"band\""), 2u) << svg;
  const Chart bare{.title = "t", .lines = {{"a", {{0, 1}, {1, 2}}}}};
  EXPECT_EQ(count_of(chart_svg(bare), "class=\"band\""), 0u);
}

TEST(Chart, NamedTicksReplaceRoundNumbers) {
  const Chart chart{.title = "t",
                    .lines = {{"a", {{0, 10}, {1, 20}}}},
                    .x_ticks = {{0, "none"}, {1, "größe"}},
                    .x_title = "binarize"};
  const std::string svg = chart_svg(chart);
  for (const char* text : {">none<", ">größe<", ">binarize<"})
    EXPECT_EQ(count_of(svg, text), 1u) << text;
  EXPECT_EQ(count_of(svg, ">0.5<"), 0u);
  EXPECT_NE(svg.find("<desc>a: from 10 at none to 20 at größe</desc>"), std::string::npos) << svg;
}

TEST(Chart, ManyLinesDifferInColourOrDash) {
  Chart chart{.title = "t", .lines = {}};
  for (int i = 0; i < 24; ++i)
    chart.lines.push_back({"l" + std::to_string(i), {{0, 1}, {1, double(i)}}});
  const std::string legend = chart_legend(chart);
  const std::vector<std::string> styles = attributes(legend, "style");
  EXPECT_EQ(styles.size(), 24u);
  EXPECT_EQ(std::set<std::string>(styles.begin(), styles.end()).size(), 24u) << legend;
}

TEST(Chart, IsWellFormedForHostileNamesAndOddValues) {
  const std::string name = "</title><script>alert(1)</script>\"'&";
  const Chart charts[] = {
      {.title = name, .lines = {{name, {{0, 1}, {1, 2}}}}, .spans = {{name, 0, 1}}},
      {.title = "nothing", .lines = {}},
      {.title = "one point", .lines = {{"a", {{3, 7}}}}},
      {.title = "no number", .lines = {{"a", {{3, kNan}}}}},
      {.title = "no place", .lines = {{"a", {{kNan, 3}, {1, 2}}}}},
      {.title = "odd bands", .lines = {{"a", {{0, 3, kNan, 4}, {1, 2, 1, 1e308}, {2, 2, 1, 3}}}}},
      {.title = "ticks", .lines = {{"a", {{3, 7}}}}, .x_ticks = {{3, name}}, .x_title = name},
      {.title = "constant", .lines = {{"a", {{0, 0}, {1, 0}}}}, .from_zero = true},
      {.title = "huge", .lines = {{"a", {{0, -1e308}, {1, 1e308}}}}}};
  for (const Chart& chart : charts) {
    const std::string text = chart_svg(chart) + chart_legend(chart);
    EXPECT_EQ(fault_in_tags(text), "") << text;
    EXPECT_EQ(text.find("<script"), std::string::npos);
    EXPECT_EQ(text.find("nan"), std::string::npos) << text;
    EXPECT_EQ(text.find("inf"), std::string::npos) << text;
  }
}

TEST(Chart, SaysWhatItShowsToThoseWhoDoNotSeeIt) {
  const Chart chart{.title = "ELBO", .lines = {{"train", {{100, -7}, {900, 5}}}}};
  const std::string svg = chart_svg(chart);
  EXPECT_NE(svg.find("role=\"img\""), std::string::npos);
  EXPECT_NE(svg.find("<desc>train: from \xe2\x88\x92"
                     "7 at step 100 to 5 at step 900</desc>"),
            std::string::npos)
      << svg;
}

}  // namespace
}  // namespace facet
