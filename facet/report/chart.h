// Charts: a few named lines over one x axis, with round ticks, bands and marked spans. A chart is
// drawn as SVG for a page (here) or as a picture (report/plot.h), by one layout
// (report/chart_layout.h). Lines are told apart by colour-blind readers too, and where there are
// many they differ by dashes as well.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace facet {

struct ChartPoint {
  double x = 0, y = 0;  ///< a y that is NaN or infinite interrupts the line
  /// The band around y, such as the lowest and the highest of what y is the mean of; NaN for none.
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;
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

/// A place on the x axis that has a name of its own.
struct ChartTick {
  double x = 0;
  std::string label;
};

struct Chart {
  std::string title;
  std::vector<ChartLine> lines;
  std::vector<ChartSpan> spans;  ///< the x axis covers all of them and all points
  bool from_zero = false;        ///< the y axis includes 0
  /// Every value is inside; else a few that lie far off may be left outside, as the first steps of
  /// a run do, for they would make a flat line of all others.
  bool whole = false;
  /// Ticks of the x axis, ascending, instead of round numbers; labels that would touch are left
  /// out.
  std::vector<ChartTick> x_ticks;
  std::string x_title;  ///< stands below the x axis; empty for none
};

/// At most `most` multiples of 1, 2 or 5 times a power of ten within low..high.
std::vector<double> round_ticks(double low, double high, int most);

/// "2,000", "0.05" or "2e-5": as many digits as tell multiples of `step` apart.
std::string tick_label(double value, double step);

/// A number for a reader, with some four digits.
std::string number_label(double value);

/// The drawing, with a title and a description for those who do not see it. The title itself is not
/// drawn: it is a heading of the page.
std::string chart_svg(const Chart& chart);

/// An HTML list of the lines' names with their last values (for a single line that is called as the
/// chart the value alone) and, where there are any, a word on values outside of the chart.
std::string chart_legend(const Chart& chart);

}  // namespace facet
