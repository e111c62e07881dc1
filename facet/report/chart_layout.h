// The one layout of charts: what the axes cover, where ticks, lines, bands and texts go. It draws
// on any canvas.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "facet/report/canvas.h"
#include "facet/report/chart.h"

namespace facet {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value);
  double length() const { return high - low; }
};

/// Whether a point has a place in a chart; the largest numbers there are would overflow it.
bool is_shown(const ChartPoint& point);

/// All values of a chart, bands included, ascending.
std::vector<double> sorted_values(const Chart& chart);

/// What the y axis has to cover, before any margin.
Range value_range(const Chart& chart);

/// How the chart's line of this index is drawn.
Style line_style(const Chart& chart, size_t line);

/// Draws a chart inside of a rectangle, with its title above it where wanted.
void draw_chart(Canvas& canvas, const Chart& chart, const Rect& area, bool with_title);

/// An entry of a legend is a stroke and a dot, as the line's own, and its name.
double legend_entry_width(const Canvas& canvas, const std::string& name);
/// Draws one with the left end of its baseline at `spot`; the name is shortened to fit `room`.
void draw_legend_entry(Canvas& canvas, Spot spot, double room, const std::string& name,
                       const Style& style);

}  // namespace facet
