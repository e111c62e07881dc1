// Charts as pixels, for what is looked at outside of a browser. Every mark is anti-aliased: how
// much of a pixel it covers is gathered for the whole mark and laid over the picture once, so that
// neither joints of a line nor seams of a band show.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "facet/data/image.h"
#include "facet/report/canvas.h"

namespace facet {

class RasterCanvas : public Canvas {
 public:
  /// Draws on a picture, which outlives the canvas, with `scale` pixels to a unit.
  RasterCanvas(Image& image, double scale);

  double text_width(std::string_view text, Part part) const override;
  void polylines(const std::vector<std::vector<Spot>>& pieces, const Style& style) override;
  void polygon(const std::vector<Spot>& corners, const Style& style) override;
  void circle(Spot center, double radius, const Style& style) override;
  void text(Spot spot, Anchor anchor, std::string_view text, Part part) override;
  void image(const Rect& rect, const Image& picture) override;
  void begin_clip(const Rect& rect) override;
  void end_clip() override;

 private:
  int64_t pixel_size(Part part) const;
  std::vector<Spot> in_pixels(const std::vector<Spot>& spots) const;

  Image& image_;
  double scale_;
  Rect clip_;  ///< in pixels
};

}  // namespace facet
