#include "facet/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "facet/report/html.h"

namespace facet {

namespace {

constexpr double kWidth = 272, kHeight = 178;  // CSS pixels where a chart is shown at its own size
constexpr double kTop = 18, kRight = 8, kBottom = 22;
constexpr double kLetter = 6.2;           // mean width of a letter at the charts' font size
constexpr double kSmallLetter = 4.9;      // of the phases' names
constexpr size_t kMostBuckets = 130;      // across; each gives its lowest and its highest point
constexpr size_t kMostDots = 12;          // a line of so few points shows them
constexpr size_t kSolidLines = 4;         // with more lines than that, dashes tell them apart too
constexpr double kOutliers = 0.06;        // share of the values at either end that may lie outside
constexpr double kFar = 0.6;              // ... where they lie so far off, in heights of the rest
constexpr size_t kFewestForOutliers = 8;  // values; of fewer none is left outside

constexpr std::array<const char*, 8> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#b8860b", "#56b4e9", "#6a51a3", "#5c6167"};
constexpr std::array<const char*, 4> kDashes = {"none", "7 3", "2 2.5", "8 3 2 3"};

/// Whether a value has a place in a chart; the largest numbers there are would overflow it.
bool is_shown(double value) { return std::abs(value) < 1e100; }

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// "0.00464" or "2e-5", with so many digits.
std::string shortest(double number, int digits) {
  std::string text = fmt::format("{:.{}g}", number, digits);
  for (const char* zero : {"e-0", "e+0"})
    if (const size_t at = text.find(zero); at != std::string::npos) text.erase(at + 2, 1);
  return text;
}

std::vector<double> sorted_values(const Chart& chart) {
  std::vector<double> values;
  for (const ChartLine& line : chart.lines)
    for (const ChartPoint& point : line.points)
      if (is_shown(point.y)) values.push_back(point.y);
  std::sort(values.begin(), values.end());
  return values;
}

/// What the y axis has to cover, before any margin.
Range value_range(const Chart& chart) {
  const std::vector<double> values = sorted_values(chart);
  Range range;
  if (values.empty()) return {0, 1};
  range = {values.front(), values.back()};
  if (!chart.whole && values.size() >= kFewestForOutliers) {
    const auto aside =
        static_cast<size_t>(std::ceil(kOutliers * static_cast<double>(values.size())));
    const double low = values[aside], high = values[values.size() - 1 - aside];
    if (low - range.low > kFar * (range.high - low)) range.low = low;
    if (range.high - high > kFar * (high - range.low)) range.high = high;
  }
  if (chart.from_zero) range.include(0);
  if (range.high - range.low < 1e-9 * std::max(std::abs(range.low), std::abs(range.high)) ||
      range.high == range.low) {
    const double room = range.low == 0 ? 1 : 0.1 * std::abs(range.low);
    range = {range.low - room, range.high + room};
  }
  return range;
}

Range step_range(const Chart& chart) {
  Range range;
  for (const ChartSpan& span : chart.spans) {
    range.include(span.begin);
    range.include(span.end);
  }
  for (const ChartLine& line : chart.lines)
    for (const ChartPoint& point : line.points) range.include(point.x);
  if (range.low > range.high) return {0, 1};
  if (range.low == range.high) range.high += 1;
  return range;
}

/// Where things go, in the drawing's units.
struct Frame {
  Range x, y;
  std::vector<double> x_ticks, y_ticks;
  double left = 0, width = 0, height = 0;

  double across(double value) const { return (value - x.low) / (x.high - x.low) * width; }
  double down(double value) const { return (y.high - value) / (y.high - y.low) * height; }
};

double tick_step(const std::vector<double>& ticks) {
  return ticks.size() > 1 ? ticks[1] - ticks[0] : std::abs(ticks.empty() ? 1 : ticks[0]);
}

/// The number of letters that a UTF-8 text shows.
double text_length(const std::string& text) {
  return static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

Frame make_frame(const Chart& chart) {
  Frame frame;
  frame.x = step_range(chart);
  frame.y = value_range(chart);
  const double margin = 0.05 * (frame.y.high - frame.y.low);
  const bool on_zero = chart.from_zero && frame.y.low == 0;
  frame.y = {on_zero ? 0 : frame.y.low - margin, frame.y.high + margin};
  frame.y_ticks = round_ticks(frame.y.low, frame.y.high, 5);
  frame.x_ticks = round_ticks(frame.x.low, frame.x.high, 5);
  double longest = 1;
  for (const double tick : frame.y_ticks)
    longest = std::max(longest, text_length(tick_label(tick, tick_step(frame.y_ticks))));
  frame.left = 8 + kLetter * longest;
  frame.width = kWidth - frame.left - kRight;
  frame.height = kHeight - kTop - kBottom;
  return frame;
}

/// At most two points a bucket, its lowest and its highest in their order, so that a long run stays
/// a small file and no excursion is lost.
std::vector<ChartPoint> thin_out(const std::vector<ChartPoint>& points) {
  if (points.size() <= 2 * kMostBuckets) return points;
  std::vector<ChartPoint> kept;
  for (size_t bucket = 0; bucket < kMostBuckets; ++bucket) {
    const auto begin = points.begin() + static_cast<int64_t>(bucket * points.size() / kMostBuckets);
    const auto end =
        points.begin() + static_cast<int64_t>((bucket + 1) * points.size() / kMostBuckets);
    const auto gap =
        std::find_if(begin, end, [](const ChartPoint& point) { return !is_shown(point.y); });
    const auto [low, high] = std::minmax_element(
        begin, gap, [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; });
    if (begin != gap) {
      kept.push_back(*std::min(low, high));
      if (low != high) kept.push_back(*std::max(low, high));
    }
    if (gap != end) {  // the points after it show as the next bucket's; the break is what matters
      kept.push_back(*gap);
      const auto after =
          std::find_if(gap, end, [](const ChartPoint& point) { return is_shown(point.y); });
      if (after != end) kept.push_back(*after);
    }
  }
  const ChartPoint& last = points.back();
  if (kept.back().x != last.x) kept.push_back(last);
  return kept;
}

/// "stroke: var(--line-2, #009e73); stroke-dasharray: 7 3".
std::string line_style(const Chart& chart, size_t index) {
  // With many lines neighbours differ by dashes, and so do lines whose colour comes round again.
  const size_t dash =
      chart.lines.size() <= kSolidLines ? 0 : (index + index / kColors.size()) % kDashes.size();
  return fmt::format("stroke:var(--line-{},{});stroke-dasharray:{}", index % kColors.size(),
                     line_color(index), kDashes[dash]);
}

/// An SVG path with a new beginning after each gap.
std::string path_data(const Frame& frame, const std::vector<ChartPoint>& points) {
  std::string path;
  bool drawing = false;
  for (const ChartPoint& point : points) {
    if (!is_shown(point.y)) {
      drawing = false;
      continue;
    }
    // Far outside values stay within what renderers compute with.
    const double y = std::clamp(frame.down(point.y), -9 * kHeight, 9 * kHeight);
    path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", frame.across(point.x), y);
    drawing = true;
  }
  return path;
}

size_t finite_points(const ChartLine& line) {
  return static_cast<size_t>(std::count_if(line.points.begin(), line.points.end(),
                                           [](const auto& point) { return is_shown(point.y); }));
}

void draw_line(std::string& svg, const Chart& chart, const Frame& frame, size_t index) {
  const ChartLine& line = chart.lines[index];
  const std::string style = line_style(chart, index);
  const std::vector<ChartPoint> points = thin_out(line.points);
  svg +=
      fmt::format("<path class=\"line\" style=\"{}\" d=\"{}\"/>", style, path_data(frame, points));
  if (finite_points(line) > kMostDots) return;
  for (const ChartPoint& point : points)
    if (is_shown(point.y))
      svg +=
          fmt::format("<circle class=\"dot\" style=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\"/>",
                      style, frame.across(point.x), frame.down(point.y));
}

void draw_axes(std::string& svg, const Frame& frame) {
  const double step = tick_step(frame.y_ticks), across = tick_step(frame.x_ticks);
  for (const double tick : frame.y_ticks) {
    const double y = kTop + frame.down(tick);
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
        frame.left, y, kWidth - kRight, frame.left - 5, y + 3.6, tick_label(tick, step));
  }
  for (const double tick : frame.x_ticks) {
    const double x = frame.left + frame.across(tick);
    const std::string label = tick_label(tick, across);
    // A label at the right end stays inside of the drawing.
    const bool last = x + kLetter * text_length(label) / 2 > kWidth - 1;
    svg += fmt::format(
        "<path class=\"tick\" d=\"M{0:.1f} {1:.1f}v4\"/>"
        "<text x=\"{2:.1f}\" y=\"{3:.1f}\" text-anchor=\"{4}\">{5}</text>",
        x, kTop + frame.height, last ? kWidth - 1 : x, kHeight - 5, last ? "end" : "middle", label);
  }
  svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", frame.left,
                     kTop + frame.height, kWidth - kRight);
}

void draw_spans(std::string& svg, const Chart& chart, const Frame& frame) {
  for (const ChartSpan& span : chart.spans) {
    const double begin = frame.left + frame.across(span.begin),
                 end = frame.left + frame.across(span.end);
    if (span.begin > frame.x.low)
      svg += fmt::format("<path class=\"phase\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", begin, kTop - 12,
                         kTop + frame.height);
    if (end - begin > kSmallLetter * text_length(span.name) + 5)
      svg += fmt::format("<text class=\"phase-name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                         begin + 4, kTop - 6, escape_html(span.name));
  }
}

const ChartPoint* end_point(const ChartLine& line, bool last) {
  const ChartPoint* found = nullptr;
  for (const ChartPoint& point : line.points)
    if (is_shown(point.y) && (last || found == nullptr)) found = &point;
  return found;
}

/// "train: from 1.2 at step 100 to 3.4 at step 900".
std::string description(const Chart& chart) {
  std::string text;
  for (const ChartLine& line : chart.lines) {
    const ChartPoint *first = end_point(line, false), *last = end_point(line, true);
    if (!text.empty()) text += "; ";
    text += line.name + ": ";
    text += first == nullptr
                ? "no values"
                : fmt::format("from {} at step {} to {} at step {}", number_label(first->y),
                              number_label(first->x), number_label(last->y), number_label(last->x));
  }
  return text;
}

/// "from −5,303 outside of the chart", or nothing.
std::string outside_note(const Chart& chart) {
  const std::vector<double> values = sorted_values(chart);
  if (values.empty()) return "";
  const Range shown = value_range(chart);
  std::string note;
  if (values.front() < shown.low) note = fmt::format("lowest {}", number_label(values.front()));
  if (values.back() > shown.high)
    note += fmt::format("{}highest {}", note.empty() ? "" : ", ", number_label(values.back()));
  return note.empty() ? "" : note + ", outside";
}

}  // namespace

const char* line_color(size_t index) { return kColors[index % kColors.size()]; }

std::vector<double> round_ticks(double low, double high, int most) {
  std::vector<double> ticks;
  if (!std::isfinite(high - low) || high <= low || most < 1) return ticks;
  double power = std::pow(10, std::floor(std::log10((high - low) / most)));
  for (bool fits = false; !fits; power *= 10)
    for (const double multiple : {1.0, 2.0, 5.0}) {
      const double step = multiple * power;
      const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
      if (last - first + 1 > most) continue;
      for (double k = first; k <= last; ++k) ticks.push_back(k * step);
      fits = true;
      break;
    }
  return ticks;
}

std::string tick_label(double value, double step) {
  if (std::abs(value) < 1e-9 * step) return "0";
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  const std::string sign = value < 0 ? "\xe2\x88\x92" : "";
  const double size = std::abs(value);
  if (decimals == 0 && size < 1e7) return sign + grouped(std::llround(size));
  if (decimals > 4 || size >= 1e7) return sign + shortest(size, 2);
  return sign + fmt::format("{:.{}f}", size, decimals);
}

std::string number_label(double value) {
  if (!std::isfinite(value)) return "–";
  const std::string sign = value < 0 ? "\xe2\x88\x92" : "";
  const double size = std::abs(value);
  if (size >= 1e7) return sign + shortest(size, 3);
  if (size >= 1000 || size == std::floor(size)) return sign + grouped(std::llround(size));
  return size < 1 ? sign + shortest(size, 3)
                  : sign + fmt::format("{:.{}f}", size, size >= 100 ? 1 : 2);
}

std::string chart_svg(const Chart& chart) {
  const Frame frame = make_frame(chart);
  std::string svg = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">"
      "<title>{}</title><desc>{}</desc>",
      kWidth, kHeight, escape_html(chart.title), escape_html(chart.title),
      escape_html(description(chart)));
  draw_axes(svg, frame);
  draw_spans(svg, chart, frame);
  // A drawing within the drawing cuts off what lies outside of the axes.
  svg += fmt::format(
      "<svg x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" overflow=\"hidden\">",
      frame.left, kTop, frame.width, frame.height);
  for (size_t i = 0; i < chart.lines.size(); ++i) draw_line(svg, chart, frame, i);
  return svg + "</svg></svg>\n";
}

std::string chart_legend(const Chart& chart) {
  std::string list = "<ul class=\"legend\">";
  const bool alone = chart.lines.size() == 1 && chart.lines[0].name == chart.title;
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartPoint* last = end_point(chart.lines[i], true);
    list += fmt::format(
        "<li><svg class=\"key\" viewBox=\"0 0 22 8\" aria-hidden=\"true\">"
        "<path class=\"line\" style=\"{}\" d=\"M0 4H22\"/></svg>{} <b>{}</b></li>",
        line_style(chart, i), escape_html(alone ? "last" : chart.lines[i].name),
        last == nullptr ? "–" : number_label(last->y));
  }
  if (const std::string note = outside_note(chart); !note.empty())
    list += fmt::format("<li class=\"note\">{}</li>", escape_html(note));
  return list + "</ul>\n";
}

}  // namespace facet
