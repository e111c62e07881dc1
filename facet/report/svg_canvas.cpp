#include "facet/report/svg_canvas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/data/image_file.h"
#include "facet/report/html.h"
#include "facet/report/utf8.h"

namespace facet {
namespace {

constexpr double kLetter = 0.56, kSmallLetter = 0.52;  // mean width of a letter, in text sizes

const char* class_of(Part part) {
  switch (part) {
    case Part::grid:
      return "grid";
    case Part::axis:
      return "axis";
    case Part::tick:
      return "tick";
    case Part::span:
      return "phase";
    case Part::line:
      return "line";
    case Part::band:
      return "band";
    case Part::dot:
      return "dot";
    case Part::label:
      return "label";
    case Part::span_name:
      return "phase-name";
    case Part::title:
      return "chart-title";
  }
  return "";
}

const char* anchor_name(Anchor anchor) {
  return anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
}

/// "var(--line-2,#009e73)".
std::string color_of(size_t line) {
  const size_t index = line % kLineColors.size();
  const Color& color = kLineColors[index];
  return fmt::format("var(--line-{},#{:02x}{:02x}{:02x})", index, color.red, color.green,
                     color.blue);
}

/// What the style sheet does not say: it knows nothing of which line a mark belongs to.
std::string style_of(const Style& style) {
  switch (style.part) {
    case Part::line:
      return svg_line_style(style);
    case Part::dot:
      return "stroke:" + color_of(style.line);
    case Part::band:
      return fmt::format("fill:{};fill-opacity:{};stroke:none", color_of(style.line), kBandOpacity);
    default:
      return "";
  }
}

/// ' class="line" style="..."'.
std::string attributes_of(const Style& style) {
  const std::string own = style_of(style);
  return fmt::format(" class=\"{}\"{}", class_of(style.part),
                     own.empty() ? "" : fmt::format(" style=\"{}\"", own));
}

}  // namespace

std::string svg_line_style(const Style& style) {
  const std::vector<double>& dashes = kDashes[style.dash % kDashes.size()];
  return fmt::format("stroke:{};stroke-dasharray:{}", color_of(style.line),
                     dashes.empty() ? "none" : fmt::format("{}", fmt::join(dashes, " ")));
}

double SvgCanvas::text_width(std::string_view text, Part part) const {
  return static_cast<double>(decode_utf8(text).size()) * text_size(part) *
         (part == Part::span_name ? kSmallLetter : kLetter);
}

std::string SvgCanvas::path_data(const std::vector<Spot>& spots) const {
  std::string path;
  for (const Spot& spot : spots)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", spot.x - origin_.x,
                        spot.y - origin_.y);
  return path;
}

void SvgCanvas::polylines(const std::vector<std::vector<Spot>>& pieces, const Style& style) {
  std::string path;
  for (const std::vector<Spot>& piece : pieces) path += path_data(piece);
  markup_ += fmt::format("<path{} d=\"{}\"/>", attributes_of(style), path);
}

void SvgCanvas::polygon(const std::vector<Spot>& corners, const Style& style) {
  markup_ += fmt::format("<path{} d=\"{}Z\"/>", attributes_of(style), path_data(corners));
}

void SvgCanvas::circle(Spot center, double radius, const Style& style) {
  markup_ += fmt::format("<circle{} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>",
                         attributes_of(style), center.x - origin_.x, center.y - origin_.y, radius);
}

void SvgCanvas::text(Spot spot, Anchor anchor, std::string_view text, Part part) {
  markup_ += fmt::format(
      "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", class_of(part),
      spot.x - origin_.x, spot.y - origin_.y, anchor_name(anchor), escape_html(text));
}

void SvgCanvas::image(const Rect& rect, const Image& picture) {
  markup_ += fmt::format(
      "<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"{}\"/>",
      rect.left - origin_.x, rect.top - origin_.y, rect.width, rect.height,
      png_address(encode_png(picture)));
}

void SvgCanvas::begin_clip(const Rect& rect) {
  // A drawing within the drawing cuts off what lies outside.
  markup_ += fmt::format(
      "<svg x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" overflow=\"hidden\">",
      rect.left, rect.top, rect.width, rect.height);
  origin_ = {rect.left, rect.top};
}

void SvgCanvas::end_clip() {
  markup_ += "</svg>";
  origin_ = {};
}

}  // namespace facet
