#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "facet/report/chart.h"
#include "facet/report/font.h"
#include "facet/report/plot.h"

namespace facet {

namespace {

constexpr int64_t kColumns = 2;
constexpr int64_t kPanelWidth = 520, kPanelHeight = 340;
constexpr int64_t kTop = 34, kRight = 22, kBottom = 58, kLeft = 14;  // around a panel's frame
constexpr int64_t kSize = 2 * kTextSize;                             // of the text
constexpr int64_t kLegendRow = 26;
constexpr double kLineWidth = 2.6, kDotWidth = 9, kGridWidth = 1;
constexpr double kBandOpacity = 0.18;

using Shade = std::array<double, 3>;
constexpr Shade kGrid = {222, 224, 226}, kAxis = {120, 124, 128};

Shade color_of(size_t line) {
  const unsigned long rgb = std::stoul(line_color(line) + 1, nullptr, 16);
  return {static_cast<double>(rgb >> 16 & 255), static_cast<double>(rgb >> 8 & 255),
          static_cast<double>(rgb & 255)};
}

void cover(Image& image, int64_t row, int64_t column, const Shade& color, double opacity) {
  if (row < 0 || row >= image.height || column < 0 || column >= image.width) return;
  for (int64_t channel = 0; channel < 3; ++channel) {
    uint8_t& value = image.at(channel, row, column);
    value = static_cast<uint8_t>(
        std::lround(value + opacity * (color[static_cast<size_t>(channel)] - value)));
  }
}

struct Spot {
  double x, y;
};

/// A stroke with round ends; a stroke of no length is a dot. Each pixel takes the share of it that
/// the stroke covers, told by its distance.
void draw_stroke(Image& image, Spot from, Spot to, double width, const Shade& color) {
  const double reach = width / 2 + 1, length_x = to.x - from.x, length_y = to.y - from.y;
  const double length = length_x * length_x + length_y * length_y;
  const auto first = [&](double a, double b) {
    return static_cast<int64_t>(std::floor(std::min(a, b) - reach));
  };
  const auto last = [&](double a, double b) {
    return static_cast<int64_t>(std::ceil(std::max(a, b) + reach));
  };
  for (int64_t row = first(from.y, to.y); row <= last(from.y, to.y); ++row)
    for (int64_t column = first(from.x, to.x); column <= last(from.x, to.x); ++column) {
      const double x = static_cast<double>(column) + 0.5 - from.x,
                   y = static_cast<double>(row) + 0.5 - from.y;
      const double along =
          length == 0 ? 0 : std::clamp((x * length_x + y * length_y) / length, 0.0, 1.0);
      const double distance = std::hypot(x - along * length_x, y - along * length_y);
      cover(image, row, column, color, std::clamp(width / 2 + 0.5 - distance, 0.0, 1.0));
    }
}

/// Where a panel's frame is in the picture, and what it shows.
struct PanelFrame {
  double left, top, width, height;
  double x_low, x_high, y_low, y_high;
  std::vector<double> y_ticks;

  Spot spot(double x, double y) const {
    return {left + (x - x_low) / (x_high - x_low) * width,
            top + (y_high - y) / (y_high - y_low) * height};
  }
};

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// With room around it: `share` of its length, or some room where it has none.
  void widen(double share) {
    if (low > high) *this = {0, 1};
    const double room = high > low ? share * (high - low) : std::max(0.5, 0.1 * std::abs(low));
    low -= room;
    high += room;
  }
};

PanelFrame frame_of(const Plot& plot, const PlotPanel& panel, int64_t row, int64_t column) {
  Extent x, y;
  for (const PlotTick& tick : plot.ticks) x.include(tick.x);
  for (const PlotLine& line : panel.lines)
    for (const PlotPoint& point : line.points) {
      x.include(point.x);
      for (const double value : {point.y, point.low, point.high}) y.include(value);
    }
  if (panel.from_zero) y.include(0);
  const bool on_zero = panel.from_zero && y.low == 0;
  x.widen(0.05);
  y.widen(0.08);
  if (on_zero) y.low = 0;
  PanelFrame frame{};
  frame.x_low = x.low, frame.x_high = x.high, frame.y_low = y.low, frame.y_high = y.high;
  frame.y_ticks = round_ticks(y.low, y.high, 6);
  const double step = frame.y_ticks.size() > 1 ? frame.y_ticks[1] - frame.y_ticks[0] : 1;
  int64_t widest = 0;
  for (const double tick : frame.y_ticks)
    widest = std::max(widest, text_width(tick_label(tick, step), kSize));
  const int64_t margin = kLeft + widest + 8;
  frame.left = static_cast<double>(column * kPanelWidth + margin);
  frame.top = static_cast<double>(row * kPanelHeight + kTop);
  frame.width = static_cast<double>(kPanelWidth - margin - kRight);
  frame.height = static_cast<double>(kPanelHeight - kTop - kBottom);
  return frame;
}

void draw_y_axis(Image& image, const PanelFrame& frame) {
  const double step = frame.y_ticks.size() > 1 ? frame.y_ticks[1] - frame.y_ticks[0] : 1;
  for (const double tick : frame.y_ticks) {
    const double y = frame.spot(frame.x_low, tick).y;
    draw_stroke(image, {frame.left, y}, {frame.left + frame.width, y}, kGridWidth, kGrid);
    const std::string label = tick_label(tick, step);
    draw_text(image, std::lround(y) + text_metrics(kSize).capital / 2,
              std::lround(frame.left) - 8 - text_width(label, kSize), label, kSize);
  }
}

void draw_x_axis(Image& image, const Plot& plot, const PanelFrame& frame) {
  const double foot = frame.top + frame.height;
  draw_stroke(image, {frame.left, foot}, {frame.left + frame.width, foot}, kGridWidth, kAxis);
  int64_t free_from = 0;
  for (const PlotTick& tick : plot.ticks) {
    const double x = frame.spot(tick.x, frame.y_low).x;
    draw_stroke(image, {x, foot}, {x, foot + 5}, kGridWidth, kAxis);
    const int64_t width = text_width(tick.label, kSize);
    const int64_t left = std::lround(x) - width / 2;
    if (left < free_from) continue;
    draw_text(image, std::lround(foot) + 10 + text_metrics(kSize).capital, left, tick.label, kSize);
    free_from = left + width + 8;
  }
  const auto room = static_cast<int64_t>(frame.width);
  const std::string title = shorten_text(plot.x_title, room, kSize);
  draw_text(image, std::lround(foot) + 34 + text_metrics(kSize).capital,
            std::lround(frame.left) + (room - text_width(title, kSize)) / 2, title, kSize);
}

/// The band between two neighbouring points, column by column.
void draw_band(Image& image, const PanelFrame& frame, const PlotPoint& one, const PlotPoint& other,
               const Shade& color) {
  const Spot low = frame.spot(one.x, one.low), high = frame.spot(one.x, one.high);
  const Spot low_end = frame.spot(other.x, other.low), high_end = frame.spot(other.x, other.high);
  for (int64_t column = std::lround(low.x); column < std::lround(low_end.x); ++column) {
    const double share =
        std::clamp((static_cast<double>(column) + 0.5 - low.x) / (low_end.x - low.x), 0.0, 1.0);
    const double top = high.y + share * (high_end.y - high.y);
    const double bottom = low.y + share * (low_end.y - low.y);
    for (auto row = static_cast<int64_t>(std::floor(top)); static_cast<double>(row) < bottom;
         ++row) {
      const double covered =
          std::min(bottom, static_cast<double>(row) + 1) - std::max(top, static_cast<double>(row));
      cover(image, row, column, color, kBandOpacity * std::clamp(covered, 0.0, 1.0));
    }
  }
}

bool is_drawn(const PlotPoint& point) {
  return std::isfinite(point.y) && std::isfinite(point.low) && std::isfinite(point.high);
}

void draw_line(Image& image, const PanelFrame& frame, const PlotLine& line, const Shade& color) {
  for (size_t i = 0; i + 1 < line.points.size(); ++i) {
    const PlotPoint &one = line.points[i], &other = line.points[i + 1];
    if (!is_drawn(one) || !is_drawn(other)) continue;
    draw_band(image, frame, one, other, color);
    draw_stroke(image, frame.spot(one.x, one.y), frame.spot(other.x, other.y), kLineWidth, color);
  }
  for (const PlotPoint& point : line.points) {
    if (!is_drawn(point)) continue;
    draw_stroke(image, frame.spot(point.x, point.low), frame.spot(point.x, point.high), kLineWidth,
                color);
    const Spot dot = frame.spot(point.x, point.y);
    draw_stroke(image, dot, dot, kDotWidth, color);
  }
}

void draw_legend(Image& image, const Plot& plot, int64_t top) {
  for (size_t i = 0; i < plot.legend.size(); ++i) {
    const int64_t row = top + static_cast<int64_t>(i) * kLegendRow;
    const double middle = static_cast<double>(row) + 7;
    draw_stroke(image, {24, middle}, {60, middle}, kLineWidth, color_of(i));
    draw_stroke(image, {42, middle}, {42, middle}, kDotWidth, color_of(i));
    draw_text(image, row + text_metrics(kSize).capital, 76,
              shorten_text(plot.legend[i], image.width - 96, kSize), kSize);
  }
}

}  // namespace

Image draw_plot(const Plot& plot) {
  const auto panels = static_cast<int64_t>(plot.panels.size());
  const int64_t rows = (panels + kColumns - 1) / kColumns;
  const int64_t legend = static_cast<int64_t>(plot.legend.size()) * kLegendRow;
  Image image = Image::filled(3, rows * kPanelHeight + legend + (legend > 0 ? 14 : 0),
                              kPanelWidth * std::min(panels, kColumns), 255);
  for (int64_t i = 0; i < panels; ++i) {
    const PlotPanel& panel = plot.panels[static_cast<size_t>(i)];
    const PanelFrame frame = frame_of(plot, panel, i / kColumns, i % kColumns);
    draw_y_axis(image, frame);
    draw_x_axis(image, plot, frame);
    for (size_t line = 0; line < panel.lines.size(); ++line)
      draw_line(image, frame, panel.lines[line], color_of(line));
    draw_text(image, static_cast<int64_t>(frame.top) - 10, static_cast<int64_t>(frame.left),
              panel.title, kSize);
  }
  draw_legend(image, plot, rows * kPanelHeight + 10);
  return image;
}

}  // namespace facet
