#include "facet/report/raster_canvas.h"

#include <algorithm>
#include <cmath>

#include "facet/report/font.h"

namespace facet {
namespace {

constexpr int kSubRows = 4;  // rows of a pixel at which the edges of an area are looked up

struct Look {
  Color color;
  double width = 1;  ///< of strokes
  double opacity = 1;
};

Look look_of(const Style& style) {
  const Color& color = kLineColors[style.line % kLineColors.size()];
  switch (style.part) {
    case Part::grid:
      return {{222, 224, 226}, 0.6};
    case Part::axis:
    case Part::tick:
      return {{120, 124, 128}, 0.6};
    case Part::span:
      return {{150, 154, 158}, 0.6};
    case Part::band:
      return {color, 0, kBandOpacity};
    default:
      return {color, 1.35};
  }
}

const std::vector<double>& dashes_of(const Style& style) {
  static const std::vector<double> of_spans = {2, 3};
  return style.part == Part::span ? of_spans : kDashes[style.dash % kDashes.size()];
}

/// What a mark through these spots can reach within the clip.
Rect reached(const std::vector<Spot>& spots, double reach, const Rect& clip) {
  double left = clip.right(), top = clip.bottom(), right = clip.left, bottom = clip.top;
  for (const Spot& spot : spots) {
    left = std::min(left, spot.x - reach), right = std::max(right, spot.x + reach);
    top = std::min(top, spot.y - reach), bottom = std::max(bottom, spot.y + reach);
  }
  left = std::max(left, clip.left), right = std::min(right, clip.right());
  top = std::max(top, clip.top), bottom = std::min(bottom, clip.bottom());
  return {left, top, std::max(right - left, 0.0), std::max(bottom - top, 0.0)};
}

/// The share of each pixel, from 0 to 1, that a mark covers. Pixels outside of a rectangle, which
/// is inside of the picture, are not covered.
class Coverage {
 public:
  explicit Coverage(const Rect& rect)
      : top_(static_cast<int64_t>(std::floor(rect.top))),
        left_(static_cast<int64_t>(std::floor(rect.left))),
        bottom_(static_cast<int64_t>(std::ceil(rect.bottom()))),
        right_(static_cast<int64_t>(std::ceil(rect.right()))),
        shares_(static_cast<size_t>((bottom_ - top_) * (right_ - left_))) {}

  /// A stroke with round ends; one of no length is a disc. A pixel's share is told by its distance.
  void add_stroke(Spot from, Spot to, double width) {
    const double reach = width / 2 + 1, x = to.x - from.x, y = to.y - from.y;
    const double length = x * x + y * y;
    for_pixels(std::min(from.y, to.y) - reach, std::max(from.y, to.y) + reach,
               std::min(from.x, to.x) - reach, std::max(from.x, to.x) + reach,
               [&](double row, double column, float& share) {
                 const double dx = column + 0.5 - from.x, dy = row + 0.5 - from.y;
                 const double along =
                     length == 0 ? 0 : std::clamp((dx * x + dy * y) / length, 0.0, 1.0);
                 const double distance = std::hypot(dx - along * x, dy - along * y);
                 share = std::max(
                     share, static_cast<float>(std::clamp(width / 2 + 0.5 - distance, 0.0, 1.0)));
               });
  }

  /// The inside of a polygon, by where each of a pixel's rows crosses its edges.
  void add_area(const std::vector<Spot>& corners) {
    for (int64_t row = top_; row < bottom_; ++row)
      for (int sub = 0; sub < kSubRows; ++sub) {
        const double y = static_cast<double>(row) + (sub + 0.5) / kSubRows;
        std::vector<double> crossings;
        for (size_t i = 0; i < corners.size(); ++i) {
          const Spot &a = corners[i], &b = corners[(i + 1) % corners.size()];
          if ((a.y <= y) != (b.y <= y))
            crossings.push_back(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
        }
        std::sort(crossings.begin(), crossings.end());
        for (size_t i = 0; i + 1 < crossings.size(); i += 2)
          for_pixels(y, y, crossings[i], crossings[i + 1],
                     [&](double, double column, float& share) {
                       const double covered =
                           std::min(column + 1, crossings[i + 1]) - std::max(column, crossings[i]);
                       share += static_cast<float>(std::clamp(covered, 0.0, 1.0) / kSubRows);
                     });
      }
  }

  void lay_over(Image& image, const Look& look) const {
    size_t next = 0;
    for (int64_t row = top_; row < bottom_; ++row)
      for (int64_t column = left_; column < right_; ++column)
        if (const float share = shares_[next++]; share > 0)
          blend(image, row, column, look.color, look.opacity * std::min(share, 1.0f));
  }

 private:
  /// Visits the pixels that touch a rectangle.
  template <typename Visit>
  void for_pixels(double top, double bottom, double left, double right, Visit&& visit) {
    const auto within = [](double value, int64_t low, int64_t high) {
      return static_cast<int64_t>(
          std::clamp(std::floor(value), static_cast<double>(low), static_cast<double>(high)));
    };
    const int64_t row_end = within(bottom + 1, top_, bottom_),
                  column_end = within(right + 1, left_, right_);
    for (int64_t row = within(top, top_, bottom_); row < row_end; ++row)
      for (int64_t column = within(left, left_, right_); column < column_end; ++column)
        visit(static_cast<double>(row), static_cast<double>(column),
              shares_[static_cast<size_t>((row - top_) * (right_ - left_) + column - left_)]);
  }

  int64_t top_, left_, bottom_, right_;
  std::vector<float> shares_;
};

/// Calls `visit(from, to)` for the dashes along a line; for all of it where there are none.
template <typename Visit>
void for_dashes(const std::vector<Spot>& spots, const std::vector<double>& dashes, double scale,
                double width, Visit&& visit) {
  size_t dash = 0;
  double left = dashes.empty() ? 0 : dashes[0] * scale;  // of the present dash or gap
  for (size_t i = 0; i + 1 < spots.size(); ++i) {
    const Spot from = spots[i], to = spots[i + 1];
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    if (dashes.empty()) {
      visit(from, to);
      continue;
    }
    const auto at = [&](double along) {
      return Spot{from.x + along / length * (to.x - from.x),
                  from.y + along / length * (to.y - from.y)};
    };
    for (double along = 0; along < length;) {
      const double end = std::min(along + left, length);
      // Round ends add half of the width at either side of a dash.
      const double trim = std::min(width, end - along) / 2;
      if (dash % 2 == 0) visit(at(along + trim), at(end - trim));
      left -= end - along;
      along = end;
      if (left < 1e-6) left = dashes[++dash % dashes.size()] * scale;
    }
  }
}

}  // namespace

RasterCanvas::RasterCanvas(Image& image, double scale) : image_(image), scale_(scale) {
  end_clip();
}

int64_t RasterCanvas::pixel_size(Part part) const { return std::lround(text_size(part) * scale_); }

std::vector<Spot> RasterCanvas::in_pixels(const std::vector<Spot>& spots) const {
  std::vector<Spot> scaled;
  for (const Spot& spot : spots) scaled.push_back({spot.x * scale_, spot.y * scale_});
  return scaled;
}

double RasterCanvas::text_width(std::string_view text, Part part) const {
  return static_cast<double>(facet::text_width(text, pixel_size(part))) / scale_;
}

void RasterCanvas::polylines(const std::vector<std::vector<Spot>>& pieces, const Style& style) {
  const Look look = look_of(style);
  const double width = look.width * scale_;
  std::vector<Spot> all;
  for (const std::vector<Spot>& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  Coverage coverage(reached(in_pixels(all), width, clip_));
  for (const std::vector<Spot>& piece : pieces)
    for_dashes(in_pixels(piece), dashes_of(style), scale_, width,
               [&](Spot from, Spot to) { coverage.add_stroke(from, to, width); });
  coverage.lay_over(image_, look);
}

void RasterCanvas::polygon(const std::vector<Spot>& corners, const Style& style) {
  const std::vector<Spot> spots = in_pixels(corners);
  Coverage coverage(reached(spots, 1, clip_));
  coverage.add_area(spots);
  coverage.lay_over(image_, look_of(style));
}

void RasterCanvas::circle(Spot center, double radius, const Style& style) {
  const Spot spot{center.x * scale_, center.y * scale_};
  const double width = 2 * radius * scale_;
  Coverage coverage(reached({spot}, width, clip_));
  coverage.add_stroke(spot, spot, width);
  coverage.lay_over(image_, look_of(style));
}

void RasterCanvas::text(Spot spot, Anchor anchor, std::string_view text, Part part) {
  const double width = text_width(text, part);
  const double left = spot.x - (anchor == Anchor::start    ? 0
                                : anchor == Anchor::middle ? width / 2
                                                           : width);
  draw_text(image_, std::lround(spot.y * scale_), std::lround(left * scale_), text,
            pixel_size(part));
}

void RasterCanvas::image(const Rect& rect, const Image& picture) {
  const Image colored = with_channels(picture, 3);
  const auto top = std::lround(rect.top * scale_), left = std::lround(rect.left * scale_),
             height = std::lround(rect.height * scale_), width = std::lround(rect.width * scale_);
  // Pixels outside of the clip are left as they are.
  const auto begin_row = std::max(top, std::lround(clip_.top)),
             end_row = std::min(top + height, std::lround(clip_.bottom())),
             begin_column = std::max(left, std::lround(clip_.left)),
             end_column = std::min(left + width, std::lround(clip_.right()));
  for (int64_t channel = 0; channel < 3; ++channel)
    for (int64_t row = begin_row; row < end_row; ++row)
      for (int64_t column = begin_column; column < end_column; ++column)
        image_.at(channel, row, column) = colored.at(channel, (row - top) * picture.height / height,
                                                     (column - left) * picture.width / width);
}

void RasterCanvas::begin_clip(const Rect& rect) {
  const Rect scaled{rect.left * scale_, rect.top * scale_, rect.width * scale_,
                    rect.height * scale_};
  end_clip();
  clip_ = reached({{scaled.left, scaled.top}, {scaled.right(), scaled.bottom()}}, 0, clip_);
}

void RasterCanvas::end_clip() {
  clip_ = {0, 0, static_cast<double>(image_.width), static_cast<double>(image_.height)};
}

}  // namespace facet
