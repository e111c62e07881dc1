#include "facet/report/chart_layout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "facet/report/utf8.h"

namespace facet {
namespace {

// Room above the frame: always, for names of spans, for the title; and below it: always, for the x
// axis's title.
constexpr double kTop = 6, kSpanNames = 12, kTitle = 20, kBottom = 22, kXTitle = 15;
constexpr double kRight = 8;
constexpr double kLabelGap = 5;  // from the frame to a label
constexpr double kDotRadius = 2.4;
constexpr int kMostTicks = 5;
constexpr size_t kMostBuckets = 130;      // across; each gives its lowest and its highest point
constexpr size_t kMostDots = 16;          // a line of so few points shows them
constexpr size_t kSolidLines = 4;         // with more lines than that, dashes tell them apart too
constexpr double kOutliers = 0.06;        // share of the values at either end that may lie outside
constexpr double kFar = 0.6;              // ... where they lie so far off, in heights of the rest
constexpr size_t kFewestForOutliers = 8;  // values; of fewer none is left outside
constexpr double kMargin = 0.05;          // around values and named ticks, in lengths of the axis
constexpr double kLargest = 1e100;
constexpr double kLegendKey = 22, kLegendGap = 7;  // a stroke, and from it to its name
constexpr double kCapitals = 0.36;                 // half the height of a capital, in text sizes

bool has_band(const ChartPoint& point) {
  return std::abs(point.low) < kLargest && std::abs(point.high) < kLargest;
}

/// Some room around a single value.
void widen_if_empty(Range& range) {
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.length() > 0 && range.length() >= 1e-9 * size) return;
  const double room = size == 0 ? 1 : 0.1 * size;
  range = {range.low - room, range.high + room};
}

Range x_range(const Chart& chart) {
  Range range;
  for (const ChartSpan& span : chart.spans) {
    range.include(span.begin);
    range.include(span.end);
  }
  for (const ChartTick& tick : chart.x_ticks) range.include(tick.x);
  for (const ChartLine& line : chart.lines)
    for (const ChartPoint& point : line.points) range.include(point.x);
  if (range.low > range.high) return {0, 1};
  if (range.low == range.high && chart.x_ticks.empty()) range.high += 1;
  if (!chart.x_ticks.empty()) {
    widen_if_empty(range);
    const double room = kMargin * range.length();
    range = {range.low - room, range.high + room};
  }
  return range;
}

double tick_step(const std::vector<double>& ticks) {
  return ticks.size() > 1 ? ticks[1] - ticks[0] : std::abs(ticks.empty() ? 1 : ticks[0]);
}

/// Round numbers with their labels.
std::vector<ChartTick> labelled_ticks(const Range& range) {
  const std::vector<double> values = round_ticks(range.low, range.high, kMostTicks);
  std::vector<ChartTick> ticks;
  for (const double value : values) ticks.push_back({value, tick_label(value, tick_step(values))});
  return ticks;
}

/// What the axes cover, and the rectangle between them.
struct Frame {
  Range x, y;
  std::vector<ChartTick> x_ticks, y_ticks;
  Rect inside;

  Spot spot(double x_value, double y_value) const {
    const double down = (y.high - y_value) / y.length() * inside.height;
    // Far outside values stay within what renderers compute with.
    return {inside.left + (x_value - x.low) / x.length() * inside.width,
            inside.top + std::clamp(down, -9 * inside.height, 9 * inside.height)};
  }
};

Frame make_frame(const Canvas& canvas, const Chart& chart, const Rect& area, bool with_title) {
  Frame frame;
  frame.x = x_range(chart);
  frame.y = value_range(chart);
  const double margin = kMargin * frame.y.length();
  const bool on_zero = chart.from_zero && frame.y.low == 0;
  frame.y = {on_zero ? 0 : frame.y.low - margin, frame.y.high + margin};
  frame.y_ticks = labelled_ticks(frame.y);
  frame.x_ticks = chart.x_ticks.empty() ? labelled_ticks(frame.x) : chart.x_ticks;
  double widest = 0;
  for (const ChartTick& tick : frame.y_ticks)
    widest = std::max(widest, canvas.text_width(tick.label, Part::label));
  const double left = area.left + widest + kLabelGap + 3;
  const double top =
      area.top + kTop + (chart.spans.empty() ? 0 : kSpanNames) + (with_title ? kTitle : 0);
  const double bottom = area.bottom() - kBottom - (chart.x_title.empty() ? 0 : kXTitle);
  frame.inside = {left, top, area.right() - kRight - left, bottom - top};
  return frame;
}

/// At most two points per bucket, its lowest and its highest in their order, so that a long run
/// stays a small file and no excursion is lost.
std::vector<ChartPoint> thin_out(const std::vector<ChartPoint>& points) {
  if (points.size() <= 2 * kMostBuckets) return points;
  std::vector<ChartPoint> kept;
  for (size_t bucket = 0; bucket < kMostBuckets; ++bucket) {
    const auto begin = points.begin() + static_cast<int64_t>(bucket * points.size() / kMostBuckets);
    const auto end =
        points.begin() + static_cast<int64_t>((bucket + 1) * points.size() / kMostBuckets);
    const auto gap = std::find_if_not(begin, end, is_shown);
    const auto [low, high] = std::minmax_element(
        begin, gap, [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; });
    if (begin != gap) {
      kept.push_back(*std::min(low, high));
      if (low != high) kept.push_back(*std::max(low, high));
    }
    if (gap != end) {  // the points after it show as the next bucket's; the break is what matters
      kept.push_back(*gap);
      const auto after = std::find_if(gap, end, is_shown);
      if (after != end) kept.push_back(*after);
    }
  }
  const ChartPoint& last = points.back();
  if (kept.back().x != last.x) kept.push_back(last);
  return kept;
}

/// The stretches of neighbouring points for which `wanted` holds.
template <typename Wanted>
std::vector<std::vector<ChartPoint>> stretches(const std::vector<ChartPoint>& points,
                                               Wanted&& wanted) {
  std::vector<std::vector<ChartPoint>> found;
  bool open = false;
  for (const ChartPoint& point : points) {
    if (wanted(point)) {
      if (!open) found.emplace_back();
      found.back().push_back(point);
    }
    open = wanted(point);
  }
  return found;
}

void draw_band(Canvas& canvas, const Frame& frame, const std::vector<ChartPoint>& points,
               const Style& style) {
  for (const auto& stretch : stretches(
           points, [](const ChartPoint& point) { return is_shown(point) && has_band(point); })) {
    if (stretch.size() < 2) continue;
    std::vector<Spot> corners;
    for (const ChartPoint& point : stretch) corners.push_back(frame.spot(point.x, point.high));
    for (auto point = stretch.rbegin(); point != stretch.rend(); ++point)
      corners.push_back(frame.spot(point->x, point->low));
    canvas.polygon(corners, {Part::band, style.line});
  }
}

void draw_line(Canvas& canvas, const Frame& frame, const std::vector<ChartPoint>& points,
               const Style& style) {
  std::vector<std::vector<Spot>> pieces;
  for (const auto& stretch : stretches(points, is_shown)) {
    pieces.emplace_back();
    for (const ChartPoint& point : stretch) pieces.back().push_back(frame.spot(point.x, point.y));
  }
  if (!pieces.empty()) canvas.polylines(pieces, style);
}

/// The points that are shown as dots: all of them where they are few, and such as stand alone.
std::vector<ChartPoint> dotted_points(const std::vector<ChartPoint>& points) {
  const auto shown = std::count_if(points.begin(), points.end(), is_shown);
  std::vector<ChartPoint> dotted;
  for (const auto& stretch : stretches(points, is_shown))
    if (static_cast<size_t>(shown) <= kMostDots || stretch.size() == 1)
      dotted.insert(dotted.end(), stretch.begin(), stretch.end());
  return dotted;
}

void draw_lines(Canvas& canvas, const Chart& chart, const Frame& frame) {
  std::vector<std::vector<ChartPoint>> lines;
  for (const ChartLine& line : chart.lines) lines.push_back(thin_out(line.points));
  canvas.begin_clip(frame.inside);
  for (size_t i = 0; i < lines.size(); ++i)
    draw_band(canvas, frame, lines[i], line_style(chart, i));
  for (size_t i = 0; i < lines.size(); ++i) {
    draw_line(canvas, frame, lines[i], line_style(chart, i));
    for (const ChartPoint& point : dotted_points(lines[i]))
      if (has_band(point) && point.low < point.high)
        canvas.line(frame.spot(point.x, point.low), frame.spot(point.x, point.high),
                    {Part::line, i});
  }
  canvas.end_clip();
  // Outside of the clip, so that a dot on the frame is whole.
  for (size_t i = 0; i < lines.size(); ++i)
    for (const ChartPoint& point : dotted_points(lines[i]))
      if (point.y >= frame.y.low && point.y <= frame.y.high)
        canvas.circle(frame.spot(point.x, point.y), kDotRadius, {Part::dot, i});
}

void draw_y_axis(Canvas& canvas, const Frame& frame) {
  for (const ChartTick& tick : frame.y_ticks) {
    const double y = frame.spot(frame.x.low, tick.x).y;
    canvas.line({frame.inside.left, y}, {frame.inside.right(), y}, {Part::grid});
    canvas.text({frame.inside.left - kLabelGap, y + kCapitals * text_size(Part::label)},
                Anchor::end, tick.label, Part::label);
  }
}

std::string fitted(const Canvas& canvas, const std::string& text, double room, Part part) {
  return shorten(text,
                 [&](const std::string& shown) { return canvas.text_width(shown, part) <= room; });
}

void draw_x_axis(Canvas& canvas, const Chart& chart, const Frame& frame, const Rect& area) {
  const double foot = frame.inside.bottom();
  canvas.line({frame.inside.left, foot}, {frame.inside.right(), foot}, {Part::axis});
  double free_from = area.left;
  for (const ChartTick& tick : frame.x_ticks) {
    const double x = frame.spot(tick.x, frame.y.low).x;
    canvas.line({x, foot}, {x, foot + 4}, {Part::tick});
    const double width = canvas.text_width(tick.label, Part::label);
    // A label at the right end stays inside of the drawing.
    const bool last = x + width / 2 > area.right() - 1;
    const double right = last ? area.right() - 1 : x + width / 2;
    if (right - width < free_from) continue;
    canvas.text({last ? right : x, foot + 17}, last ? Anchor::end : Anchor::middle, tick.label,
                Part::label);
    free_from = right + kLabelGap;
  }
  if (chart.x_title.empty()) return;
  canvas.text({frame.inside.left + frame.inside.width / 2, foot + 17 + kXTitle}, Anchor::middle,
              fitted(canvas, chart.x_title, frame.inside.width, Part::label), Part::label);
}

void draw_spans(Canvas& canvas, const Chart& chart, const Frame& frame) {
  const double top = frame.inside.top;
  for (const ChartSpan& span : chart.spans) {
    const double begin = frame.spot(span.begin, 0).x, end = frame.spot(span.end, 0).x;
    if (span.begin > frame.x.low)
      canvas.line({begin, top - kSpanNames}, {begin, frame.inside.bottom()}, {Part::span});
    if (end - begin > canvas.text_width(span.name, Part::span_name) + 5)
      canvas.text({begin + 4, top - 6}, Anchor::start, span.name, Part::span_name);
  }
}

}  // namespace

void Range::include(double value) {
  if (!(std::abs(value) < kLargest)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

bool is_shown(const ChartPoint& point) {
  return std::abs(point.x) < kLargest && std::abs(point.y) < kLargest;
}

std::vector<double> sorted_values(const Chart& chart) {
  std::vector<double> values;
  for (const ChartLine& line : chart.lines)
    for (const ChartPoint& point : line.points) {
      if (!is_shown(point)) continue;
      values.push_back(point.y);
      if (has_band(point)) values.insert(values.end(), {point.low, point.high});
    }
  std::sort(values.begin(), values.end());
  return values;
}

Range value_range(const Chart& chart) {
  const std::vector<double> values = sorted_values(chart);
  if (values.empty()) return {0, 1};
  Range range{values.front(), values.back()};
  if (!chart.whole && values.size() >= kFewestForOutliers) {
    const auto aside =
        static_cast<size_t>(std::ceil(kOutliers * static_cast<double>(values.size())));
    const double low = values[aside], high = values[values.size() - 1 - aside];
    if (low - range.low > kFar * (range.high - low)) range.low = low;
    if (range.high - high > kFar * (high - range.low)) range.high = high;
  }
  if (chart.from_zero) range.include(0);
  if (chart.from_zero && range.length() == 0) return {0, 1};
  widen_if_empty(range);
  return range;
}

Style line_style(const Chart& chart, size_t line) {
  // With many lines neighbours differ by dashes, and so do lines whose colour comes round again.
  const size_t dash =
      chart.lines.size() <= kSolidLines ? 0 : (line + line / kLineColors.size()) % kDashes.size();
  return {Part::line, line, dash};
}

void draw_chart(Canvas& canvas, const Chart& chart, const Rect& area, bool with_title) {
  const Frame frame = make_frame(canvas, chart, area, with_title);
  draw_y_axis(canvas, frame);
  draw_x_axis(canvas, chart, frame, area);
  draw_spans(canvas, chart, frame);
  draw_lines(canvas, chart, frame);
  if (with_title)
    canvas.text({frame.inside.left, area.top + kTop + text_size(Part::title) - 3}, Anchor::start,
                fitted(canvas, chart.title, frame.inside.width, Part::title), Part::title);
}

double legend_entry_width(const Canvas& canvas, const std::string& name) {
  return kLegendKey + kLegendGap + canvas.text_width(name, Part::label);
}

void draw_legend_entry(Canvas& canvas, Spot spot, double room, const std::string& name,
                       const Style& style) {
  const double middle = spot.y - kCapitals * text_size(Part::label);
  const double text = kLegendKey + kLegendGap;
  canvas.line({spot.x, middle}, {spot.x + kLegendKey, middle}, style);
  canvas.circle({spot.x + kLegendKey / 2, middle}, kDotRadius, {Part::dot, style.line});
  canvas.text({spot.x + text, spot.y}, Anchor::start,
              fitted(canvas, name, room - text, Part::label), Part::label);
}

}  // namespace facet
