#include "facet/report/chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/report/chart_layout.h"
#include "facet/report/html.h"
#include "facet/report/svg_canvas.h"

namespace facet {

namespace {

constexpr double kWidth = 272, kHeight = 178;  // CSS pixels where a chart is shown at its own size
constexpr double kXTitleHeight = 15;           // more where the x axis has a title

/// "0.00464" or "2e-5", with so many digits.
std::string shortest(double number, int digits) {
  std::string text = fmt::format("{:.{}g}", number, digits);
  for (const char* zero : {"e-0", "e+0"})
    if (const size_t at = text.find(zero); at != std::string::npos) text.erase(at + 2, 1);
  return text;
}

const ChartPoint* end_point(const ChartLine& line, bool last) {
  const ChartPoint* found = nullptr;
  for (const ChartPoint& point : line.points)
    if (is_shown(point) && (last || found == nullptr)) found = &point;
  return found;
}

/// "step 100", or the name of a tick.
std::string place_label(const Chart& chart, double x) {
  for (const ChartTick& tick : chart.x_ticks)
    if (tick.x == x) return tick.label;
  return "step " + number_label(x);
}

/// "train: from 1.2 at step 100 to 3.4 at step 900".
std::string description(const Chart& chart) {
  std::string text;
  for (const ChartLine& line : chart.lines) {
    const ChartPoint *first = end_point(line, false), *last = end_point(line, true);
    if (!text.empty()) text += "; ";
    text += line.name + ": ";
    text += first == nullptr ? "no values"
                             : fmt::format("from {} at {} to {} at {}", number_label(first->y),
                                           place_label(chart, first->x), number_label(last->y),
                                           place_label(chart, last->x));
  }
  return text;
}

/// "lowest −5,303, outside", or nothing.
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
  const double height = kHeight + (chart.x_title.empty() ? 0 : kXTitleHeight);
  SvgCanvas canvas;
  draw_chart(canvas, chart, {0, 0, kWidth, height}, /*with_title=*/false);
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">"
      "<title>{}</title><desc>{}</desc>{}</svg>\n",
      kWidth, height, escape_html(chart.title), escape_html(chart.title),
      escape_html(description(chart)), canvas.markup());
}

std::string chart_legend(const Chart& chart) {
  std::string list = "<ul class=\"legend\">";
  const bool alone = chart.lines.size() == 1 && chart.lines[0].name == chart.title;
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartPoint* last = end_point(chart.lines[i], true);
    list += fmt::format(
        "<li><svg class=\"key\" viewBox=\"0 0 22 8\" aria-hidden=\"true\">"
        "<path class=\"line\" style=\"{}\" d=\"M0 4H22\"/></svg>{} <b>{}</b></li>",
        svg_line_style(line_style(chart, i)), escape_html(alone ? "last" : chart.lines[i].name),
        last == nullptr ? "–" : number_label(last->y));
  }
  if (const std::string note = outside_note(chart); !note.empty())
    list += fmt::format("<li class=\"note\">{}</li>", escape_html(note));
  return list + "</ul>\n";
}

}  // namespace facet
