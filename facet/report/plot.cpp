#include "facet/report/plot.h"

#include <algorithm>
#include <cmath>

#include "facet/core/error.h"
#include "facet/report/chart_layout.h"
#include "facet/report/raster_canvas.h"

namespace facet {
namespace {

constexpr double kScale = 2;  // pixels to a CSS pixel: for today's screens, and for paper
constexpr size_t kColumns = 2;
constexpr double kPlotWidth = 272, kPlotHeight = 190;  // of a chart with its title
constexpr double kLegendMargin = 10;                   // around the legend
constexpr double kAbove = 6;                           // ... and over it
constexpr double kLegendRow = 17, kLegendSpacing = 16;

/// Names in columns of equal width, as many as fit beside each other.
struct LegendLayout {
  size_t rows = 0;
  double column_width = 0, height = 0;

  LegendLayout(const ChartSheet& sheet, double width) {
    if (sheet.legend.empty()) return;
    Image nothing;
    const RasterCanvas canvas(nothing, kScale);
    double widest = 0;
    for (const std::string& name : sheet.legend)
      widest = std::max(widest, legend_entry_width(canvas, name));
    const double room = width - 2 * kLegendMargin;
    column_width = std::min(widest, room);
    const auto columns =
        static_cast<size_t>((room + kLegendSpacing) / (column_width + kLegendSpacing));
    rows = (sheet.legend.size() + columns - 1) / columns;
    height = kAbove + static_cast<double>(rows) * kLegendRow + kLegendMargin;
  }

  /// The left end of an entry's baseline; names run down the columns.
  Spot spot(size_t entry, double top) const {
    return {kLegendMargin + static_cast<double>(entry / rows) * (column_width + kLegendSpacing),
            top + kAbove + (static_cast<double>(entry % rows) + 0.75) * kLegendRow};
  }
};

int64_t pixels(double length) { return std::lround(std::ceil(length * kScale)); }

}  // namespace

Image draw_plot(const ChartSheet& sheet) {
  if (sheet.charts.empty())
    throw Error({.doing = "drawing charts", .found = "none", .expected = "at least one"});
  const size_t count = sheet.charts.size();
  const double width = kPlotWidth * static_cast<double>(std::min(count, kColumns));
  const double below = kPlotHeight * static_cast<double>((count + kColumns - 1) / kColumns);
  const LegendLayout legend(sheet, width);
  Image image = Image::filled(3, pixels(below + legend.height), pixels(width), 255);
  RasterCanvas canvas(image, kScale);
  for (size_t i = 0; i < count; ++i) {
    const Rect area{kPlotWidth * static_cast<double>(i % kColumns),
                    kPlotHeight * static_cast<double>(i / kColumns), kPlotWidth, kPlotHeight};
    draw_chart(canvas, sheet.charts[i], area, /*with_title=*/true);
  }
  for (size_t i = 0; i < sheet.legend.size(); ++i)
    draw_legend_entry(canvas, legend.spot(i, below), legend.column_width, sheet.legend[i],
                      line_style(sheet.charts.front(), i));
  return image;
}

}  // namespace facet
