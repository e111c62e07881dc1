// Line charts as SVG: a few named lines over the steps of a run, with round ticks and the phases
// marked. Colours are CSS variables with defaults, so that a page can have a light, a dark and a
// printed form of one drawing; they are told apart by colour-blind readers too (Okabe and Ito's
// palette), and where lines are many they differ by dashes as well.
#pragma once

#include <string>
#include <vector>

namespace facet {

struct ChartPoint {
  double x = 0, y = 0;  ///< a y that is no number or infinite interrupts the line
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;  ///< with x ascending
};

/// A stretch of the x axis, such as a phase of training.
struct ChartSpan {
  std::string name;
  double begin = 0, end = 0;
};

struct Chart {
  std::string title;
  std::vector<ChartLine> lines;
  std::vector<ChartSpan> spans;  ///< the x axis reaches over all of them and over all points
  bool from_zero = false;        ///< the y axis includes 0
  /// Every value is inside; else a few that lie far off may be left outside, as the first steps of
  /// a run do, for they would make a flat line of all others.
  bool whole = false;
};

/// The colour of a chart's line as "#0072b2"; the colours come round again.
const char* line_color(size_t index);

/// At most `most` multiples of 1, 2 or 5 times a power of ten within low..high.
std::vector<double> round_ticks(double low, double high, int most);

/// "2,000", "0.05" or "2e-5": as many digits as tell multiples of `step` apart.
std::string tick_label(double value, double step);

/// A number for a reader, with some four digits.
std::string number_label(double value);

/// The drawing, with a title and a description for those who do not see it.
std::string chart_svg(const Chart& chart);

/// An HTML list of the lines' names with their last values (for a single line that is called as the
/// chart the value alone) and, where there are any, a word on values outside of the chart.
std::string chart_legend(const Chart& chart);

}  // namespace facet
