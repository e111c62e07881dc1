// Charts as SVG for a page. Marks have classes for its style sheet, and colours of lines are CSS
// variables with defaults, so that one drawing has a light, a dark and a printed form. Texts are
// measured by their number of letters: the reader's font is not known here, and the same chart is
// the same bytes on every machine.
#pragma once

#include <string>

#include "facet/report/canvas.h"

namespace facet {

/// "stroke:var(--line-2,#009e73);stroke-dasharray:7 3".
std::string svg_line_style(const Style& style);

class SvgCanvas : public Canvas {
 public:
  double text_width(std::string_view text, Part part) const override;
  void polylines(const std::vector<std::vector<Spot>>& pieces, const Style& style) override;
  void polygon(const std::vector<Spot>& corners, const Style& style) override;
  void circle(Spot center, double radius, const Style& style) override;
  void text(Spot spot, Anchor anchor, std::string_view text, Part part) override;
  void image(const Rect& rect, const Image& picture) override;
  void begin_clip(const Rect& rect) override;
  void end_clip() override;

  /// The elements, without the svg element around them.
  const std::string& markup() const { return markup_; }

 private:
  std::string path_data(const std::vector<Spot>& spots) const;

  std::string markup_;
  Spot origin_;  ///< of the clip, which has coordinates of its own
};

}  // namespace facet
