// What charts are drawn on. A chart is laid out once, as lines, areas, dots and texts that each say
// what part of the chart they are; a canvas gives the parts their look. There are two: SVG, where a
// style sheet has a say (svg_canvas.h), and the pixels of a picture (raster_canvas.h). Lengths are
// CSS pixels, y grows downward.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "facet/data/image.h"
#include "facet/report/paint.h"

namespace facet {

struct Spot {
  double x = 0, y = 0;
};

struct Rect {
  double left = 0, top = 0, width = 0, height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

/// What of a chart a mark is.
enum class Part { grid, axis, tick, span, line, band, dot, label, span_name, title };

/// A mark's part and, for lines, bands and dots, which line of the chart it belongs to.
struct Style {
  Part part = Part::line;
  size_t line = 0;  ///< decides the colour; the colours come round again
  size_t dash = 0;  ///< of kDashes
};

/// Where a text stands relative to its spot.
enum class Anchor { start, middle, end };

/// Okabe and Ito's palette, which colour-blind readers can tell apart, made a little darker where
/// it would be faint on white.
inline constexpr std::array<Color, 8> kLineColors = {{{0x00, 0x72, 0xb2},
                                                      {0xd5, 0x5e, 0x00},
                                                      {0x00, 0x9e, 0x73},
                                                      {0xcc, 0x79, 0xa7},
                                                      {0xb8, 0x86, 0x0b},
                                                      {0x56, 0xb4, 0xe9},
                                                      {0x6a, 0x51, 0xa3},
                                                      {0x5c, 0x61, 0x67}}};

/// Lengths of strokes and gaps in turn; the first is a solid line.
inline const std::array<std::vector<double>, 4> kDashes = {{{}, {7, 3}, {2, 2.5}, {8, 3, 2, 3}}};

/// How much of a line's colour its band has.
inline constexpr double kBandOpacity = 0.18;

/// The height of letters, as fonts count it.
constexpr double text_size(Part part) {
  return part == Part::span_name ? 9.5 : part == Part::title ? 13 : 11;
}

class Canvas {
 public:
  virtual ~Canvas() = default;

  virtual double text_width(std::string_view text, Part part) const = 0;

  /// Strokes through the spots of each piece. All pieces together are one mark.
  virtual void polylines(const std::vector<std::vector<Spot>>& pieces, const Style& style) = 0;
  virtual void polygon(const std::vector<Spot>& corners, const Style& style) = 0;
  virtual void circle(Spot center, double radius, const Style& style) = 0;
  /// A line of UTF-8 text on the baseline at `spot`.
  virtual void text(Spot spot, Anchor anchor, std::string_view text, Part part) = 0;
  /// A picture, stretched to fill a rectangle without smoothing.
  virtual void image(const Rect& rect, const Image& picture) = 0;

  /// Cuts off what lies outside of a rectangle, up to end_clip().
  virtual void begin_clip(const Rect& rect) = 0;
  virtual void end_clip() = 0;

  void line(Spot from, Spot to, const Style& style) { polylines({{from, to}}, style); }
};

}  // namespace facet
