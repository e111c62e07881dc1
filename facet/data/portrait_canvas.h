// The drawing primitives of the built-in portraits: points, colours, shapes, and a brush that
// paints shapes on a canvas. Every shape is a signed distance function (negative inside), whose
// value at a pixel's centre tells how much of the pixel is covered, so that edges are smooth at any
// size. Only correctly rounded arithmetic is used, and files that include this are compiled without
// fused multiply-adds (-ffp-contract=off): a picture is the same on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "facet/data/image.h"

namespace facet::drawing {

struct Point {
  float x = 0, y = 0;
};
inline Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
inline Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
inline Point operator*(Point a, float b) { return {a.x * b, a.y * b}; }
inline float dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }
inline float length(Point a) { return std::sqrt(dot(a, a)); }

/// Maps the left half to the right half: a shape drawn on the right appears on both sides.
inline Point mirrored(Point p) { return {std::abs(p.x), p.y}; }

/// Bends horizontal shapes into parabolas; a positive bend lowers both ends.
inline Point bent(Point p, float bend) { return {p.x, p.y - bend * p.x * p.x}; }

struct Color {
  float red = 0, green = 0, blue = 0;  // 0 to 1
};
inline Color operator*(Color a, float b) { return {a.red * b, a.green * b, a.blue * b}; }
inline Color mix(Color a, Color b, float share) {
  return {a.red + (b.red - a.red) * share, a.green + (b.green - a.green) * share,
          a.blue + (b.blue - a.blue) * share};
}
constexpr Color rgb(uint32_t hex) {
  return {static_cast<float>(hex >> 16 & 255) / 255, static_cast<float>(hex >> 8 & 255) / 255,
          static_cast<float>(hex & 255) / 255};
}

// Signed distances to shapes, negative inside, in the units of the coordinates.

inline float circle(Point p, Point center, float radius) { return length(p - center) - radius; }

/// The implicit equation divided by the length of its gradient: correct to first order near the
/// outline, which is enough for smooth edges.
inline float ellipse(Point p, Point center, Point radii) {
  const Point inverse = {1 / radii.x, 1 / radii.y};
  const Point once = {(p.x - center.x) * inverse.x, (p.y - center.y) * inverse.y};
  const Point twice = {once.x * inverse.x, once.y * inverse.y};
  return (dot(once, once) - 1) / (2 * length(twice) + 1e-6f);
}

inline float rounded_box(Point p, Point center, Point half, float corner) {
  const Point q = {std::abs(p.x - center.x) - half.x + corner,
                   std::abs(p.y - center.y) - half.y + corner};
  const Point outside = {std::max(q.x, 0.0f), std::max(q.y, 0.0f)};
  return length(outside) + std::min(std::max(q.x, q.y), 0.0f) - corner;
}

/// A line from one point to another with round ends.
inline float stroke(Point p, Point from, Point to, float radius) {
  const Point along = to - from;
  const float share = std::clamp(dot(p - from, along) / dot(along, along), 0.0f, 1.0f);
  return length(p - from - along * share) - radius;
}

/// Colours [side, side]. A small picture is drawn larger and averaged down, so that lines thinner
/// than a pixel keep their true weight.
struct Canvas {
  explicit Canvas(int64_t picture_size)
      : oversampling((64 + picture_size - 1) / picture_size),
        side(picture_size * oversampling),
        colors(static_cast<size_t>(side * side)) {}

  int64_t oversampling;
  int64_t side;
  std::vector<Color> colors;
};

/// The position, size and rotation of a part of the picture. The picture spans -1 to 1, y down.
struct Placement {
  Point center;
  Point scale = {1, 1};
  float cosine = 1, sine = 0;
};

/// A bounding box of a shape: pixels outside it are skipped.
struct Box {
  Point low, high;
};
inline Box around(Point center, Point half) { return {center - half, center + half}; }

/// How a shape blends with what is painted already.
struct Blend {
  float opacity = 1;
  float blur = 0;  ///< width over which the edge fades, if wider than a pixel
};

/// Paints shapes given in the coordinates of a placement.
class Brush {
 public:
  /// `light` brightens the side it points to; `roundness` darkens points far from the centre.
  Brush(Canvas& canvas, const Placement& placement, Point light, float roundness);

  template <typename Distance>
  void paint(const Box& box, Color color, const Distance& distance, Blend blend = {}) const {
    const float width = std::max(blend.blur, pixel_);
    const float sharpness = 1 / width;
    const auto [first_column, last_column, first_row, last_row] = pixels(box, width);
    for (int64_t row = first_row; row < last_row; ++row) {
      const Point start = first_ + row_step_ * static_cast<float>(row);
      Color* colors = canvas_.colors.data() + row * canvas_.side;
      for (int64_t column = first_column; column < last_column; ++column) {
        const Point p = start + column_step_ * static_cast<float>(column);
        const float coverage = std::clamp(0.5f - distance(p) * sharpness, 0.0f, 1.0f);
        if (coverage > 0) {
          const float brightness = 1 + dot(light_, p) - roundness_ * dot(p, p);
          colors[column] = mix(colors[column], color * brightness, coverage * blend.opacity);
        }
      }
    }
  }

 private:
  struct Pixels {
    int64_t first_column, last_column, first_row, last_row;
  };

  /// The pixels that a box with a margin may touch after the placement has rotated it.
  Pixels pixels(const Box& box, float margin) const;
  int64_t pixel_at(float coordinate) const;

  Canvas& canvas_;
  Placement placement_;
  Point light_;
  float roundness_;
  Point first_;                   // centre of the first pixel
  Point column_step_, row_step_;  // from a pixel to its neighbours
  float pixel_ = 0;               // size of a pixel in the placement's units
};

/// The canvas averaged down to the size of the picture, [3, size, size].
Image average_down(const Canvas& canvas);

}  // namespace facet::drawing
