#include "facet/report/scatter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "facet/report/chart.h"
#include "facet/report/html.h"
#include "facet/report/svg_canvas.h"

namespace facet {

namespace {

constexpr double kSide = 320, kLeft = 30, kBelow = 34, kScatterMargin = 20;  // CSS pixels
constexpr double kDot = 1.4;
constexpr int kCorners = 48;
constexpr double kDeviations = 2;

/// What an axis covers.
struct Extent {
  double centre = 0, half = 1;

  Extent(std::vector<double> values) {
    if (values.empty()) return;
    std::sort(values.begin(), values.end());
    const size_t cut = values.size() / 200;
    const double low = values[cut], high = values[values.size() - 1 - cut];
    centre = 0.5 * (low + high);
    half = std::max(0.55 * (high - low), 1e-9);
  }
};

class ScatterDrawing {
 public:
  explicit ScatterDrawing(const Scatter& scatter)
      : scatter_(scatter), x_(values(&ScatterPoint::x)), y_(values(&ScatterPoint::y)) {
    x_.half = y_.half = std::max(x_.half, y_.half);  // equal units: ellipses keep their shape
  }

  std::string markup() {
    axes();
    canvas_.begin_clip({kLeft, kScatterMargin, kSide, kSide});
    for (const ScatterPoint& point : scatter_.points)
      canvas_.circle(at(point.x, point.y), kDot, {Part::dot, point.group, 0});
    for (const ScatterEllipse& ellipse : scatter_.ellipses) draw(ellipse);
    canvas_.end_clip();
    return canvas_.markup();
  }

 private:
  std::vector<double> values(double ScatterPoint::*axis) const {
    std::vector<double> all;
    for (const ScatterPoint& point : scatter_.points) all.push_back(point.*axis);
    return all;
  }

  Spot at(double x, double y) const {
    return {kLeft + kSide * (0.5 + 0.5 * (x - x_.centre) / x_.half),
            kScatterMargin + kSide * (0.5 - 0.5 * (y - y_.centre) / y_.half)};
  }

  void axes() {
    const auto ticks = [](const Extent& axis) {
      return round_ticks(axis.centre - axis.half, axis.centre + axis.half, 6);
    };
    const std::vector<double> across = ticks(x_), up = ticks(y_);
    for (const double x : across) {
      const Spot spot = at(x, 0);
      canvas_.line({spot.x, kScatterMargin}, {spot.x, kScatterMargin + kSide}, {Part::grid});
      canvas_.text({spot.x, kScatterMargin + kSide + 14}, Anchor::middle,
                   tick_label(x, step(across)), Part::tick);
    }
    for (const double y : up) {
      const Spot spot = at(0, y);
      canvas_.line({kLeft, spot.y}, {kLeft + kSide, spot.y}, {Part::grid});
      canvas_.text({kLeft - 5, spot.y + 4}, Anchor::end, tick_label(y, step(up)), Part::tick);
    }
    canvas_.text({kLeft + kSide / 2, kScatterMargin + kSide + 29}, Anchor::middle, scatter_.x_title,
                 Part::label);
    canvas_.text({2, kScatterMargin - 9}, Anchor::start, scatter_.y_title, Part::label);
  }

  static double step(const std::vector<double>& ticks) {
    return ticks.size() < 2 ? 1.0 : ticks[1] - ticks[0];
  }

  /// A circle through the square root (Cholesky) of the covariance.
  void draw(const ScatterEllipse& ellipse) {
    const double a = std::sqrt(std::max(ellipse.xx, 0.0));
    const double b = a > 0 ? ellipse.xy / a : 0.0;
    const double c = std::sqrt(std::max(ellipse.yy - b * b, 0.0));
    std::vector<Spot> corners;
    for (int i = 0; i <= kCorners; ++i) {
      const double angle = 2.0 * std::numbers::pi * i / kCorners;
      const double u = kDeviations * std::cos(angle), v = kDeviations * std::sin(angle);
      corners.push_back(at(ellipse.x + a * u, ellipse.y + b * u + c * v));
    }
    canvas_.polylines({corners}, {Part::line, ellipse.group, 0});
  }

  const Scatter& scatter_;
  Extent x_, y_;
  SvgCanvas canvas_;
};

}  // namespace

std::string scatter_svg(const Scatter& scatter) {
  const std::string what =
      fmt::format("{} points and {} ellipses over {} and {}", scatter.points.size(),
                  scatter.ellipses.size(), scatter.x_title, scatter.y_title);
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">"
      "<title>{}</title><desc>{}</desc>{}</svg>\n",
      kLeft + kSide + 4, kScatterMargin + kSide + kBelow, escape_html(scatter.title),
      escape_html(scatter.title), escape_html(what), ScatterDrawing(scatter).markup());
}

}  // namespace facet
