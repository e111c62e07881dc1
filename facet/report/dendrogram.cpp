#include "facet/report/dendrogram.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/report/html.h"
#include "facet/report/raster_canvas.h"
#include "facet/report/svg_canvas.h"

namespace facet {

namespace {

constexpr double kTreeScale = 2;  // pixels to a CSS pixel, as in report/plot.cpp
constexpr double kTreeMargin = 12, kTreeTitle = 44, kTreeAxis = 44;
constexpr double kTreeWidth = 300, kGap = 8;
constexpr double kPictureSide = 28, kLargestSide = 64;  // CSS pixels, about
constexpr double kLowestLift = 1e-3;                    // rarer neighbours are as good as none

constexpr const char* kExplanation =
    "A row is a group of components, with its share of the images and its heaviest components. "
    "Groups that join further left have less in common.";

/// CSS pixels of a picture: whole multiples of its own pixels where it is small.
Rect picture_size(const Dendrogram& tree) {
  for (const Dendrogram::Leaf& leaf : tree.leaves)
    if (!leaf.pictures.empty()) {
      const auto height = static_cast<double>(leaf.pictures.front().height),
                 width = static_cast<double>(leaf.pictures.front().width);
      const double times =
          std::max(1.0, std::floor(kTreeScale * kPictureSide / height)) / kTreeScale;
      const double shrink = std::min(1.0, kLargestSide / (times * height));
      return {0, 0, times * shrink * width, times * shrink * height};
    }
  return {0, 0, kPictureSide, kPictureSide};
}

size_t most_pictures(const Dendrogram& tree) {
  size_t most = 0;
  for (const Dendrogram::Leaf& leaf : tree.leaves) most = std::max(most, leaf.pictures.size());
  return most;
}

class Layout {
 public:
  Layout(Canvas& canvas, const Dendrogram& tree, bool with_title)
      : canvas_(canvas), tree_(tree), colors_(node_colors(tree)), picture_(picture_size(tree)) {
    top_ = with_title ? kTreeMargin + kTreeTitle : kTreeMargin;
    row_ = std::max(picture_.height + 4, 16.0);
    for (const Dendrogram::Leaf& leaf : tree.leaves)
      label_width_ = std::max(label_width_, canvas.text_width(leaf.label, Part::label));
    // Leaves stand at the right, half a decade beyond the closest join that is shown.
    highest_ = std::log10(tree.joins.empty() ? 10 : std::max(tree.joins.front().lift, 2.0)) + 0.5;
    lowest_ = std::log10(
                  tree.joins.empty() ? 0.1 : std::clamp(tree.joins.back().lift, kLowestLift, 0.5)) -
              0.3;
    place_nodes();
  }

  double width() const {
    const double text = kTreeMargin + canvas_.text_width(kAxisTitle, Part::label) + kTreeMargin;
    return std::max(text, kTreeMargin + kTreeWidth + kGap + label_width_ + kGap +
                              static_cast<double>(most_pictures(tree_)) * (picture_.width + 2) +
                              kTreeMargin);
  }
  double bottom() const { return top_ + row_ * static_cast<double>(tree_.leaves.size()); }
  double height() const { return bottom() + kTreeAxis; }

  void draw() {
    if (top_ > kTreeMargin) {
      canvas_.text({kTreeMargin, kTreeMargin + 14}, Anchor::start, tree_.title, Part::title);
      canvas_.text({kTreeMargin, kTreeMargin + 32}, Anchor::start, kExplanation, Part::label);
    }
    draw_axis();
    for (size_t i = tree_.joins.size(); i-- > 0;) draw_join(i);
    for (size_t leaf = 0; leaf < tree_.leaves.size(); ++leaf) draw_leaf(leaf);
  }

 private:
  static constexpr const char* kAxisTitle =
      "how often two groups are neighbours, relative to chance";

  double x_of(double lift) const {
    const double share = (std::log10(std::max(lift, kLowestLift)) - lowest_) / (highest_ - lowest_);
    return kTreeMargin + kTreeWidth * std::clamp(share, 0.0, 1.0);
  }
  void place_nodes() {
    spots_.resize(tree_.leaves.size() + tree_.joins.size());
    double y = top_ + row_ / 2;
    for (const size_t leaf : leaf_order(tree_)) {
      spots_[leaf] = {kTreeMargin + kTreeWidth, y};
      y += row_;
    }
    for (size_t i = 0; i < tree_.joins.size(); ++i) {
      const Dendrogram::Join& join = tree_.joins[i];
      spots_[tree_.leaves.size() + i] = {x_of(join.lift),
                                         (spots_[join.one].y + spots_[join.other].y) / 2};
    }
  }
  Style style_of(size_t node) const {
    if (colors_[node] < 0) return {Part::axis};
    const auto group = static_cast<size_t>(colors_[node]);
    return {Part::line, group, group / kLineColors.size()};  // dashes where colours come again
  }
  void draw_join(size_t i) {
    const Dendrogram::Join& join = tree_.joins[i];
    const size_t node = tree_.leaves.size() + i;
    const double x = spots_[node].x;
    canvas_.line({x, spots_[join.one].y}, {x, spots_[join.other].y}, style_of(node));
    for (const size_t child : {join.one, join.other})
      canvas_.line({x, spots_[child].y}, spots_[child], style_of(child));
  }
  void draw_leaf(size_t leaf) {
    const Spot spot = spots_[leaf];
    canvas_.text({spot.x + kGap, spot.y + 4}, Anchor::start, tree_.leaves[leaf].label, Part::label);
    double left = spot.x + kGap + label_width_ + kGap;
    for (const Image& picture : tree_.leaves[leaf].pictures) {
      canvas_.image({left, spot.y - picture_.height / 2, picture_.width, picture_.height}, picture);
      left += picture_.width + 2;
    }
  }
  void draw_axis() {
    const double y = bottom() + 4;
    canvas_.line({kTreeMargin, y}, {kTreeMargin + kTreeWidth, y}, {Part::axis});
    for (double power = std::ceil(lowest_); power <= highest_; ++power) {
      const double lift = std::pow(10.0, power), x = x_of(lift);
      canvas_.line({x, y}, {x, y + 4}, {Part::tick});
      canvas_.text({x, y + 16}, Anchor::middle, power == 0 ? "chance" : fmt::format("{:g}×", lift),
                   Part::label);
    }
    canvas_.text({kTreeMargin, y + 33}, Anchor::start, kAxisTitle, Part::label);
    canvas_.line({x_of(1), top_}, {x_of(1), y}, {Part::span});
  }

  Canvas& canvas_;
  const Dendrogram& tree_;
  std::vector<int64_t> colors_;
  Rect picture_;
  double top_ = 0, row_ = 0, label_width_ = 0, lowest_ = 0, highest_ = 1;
  std::vector<Spot> spots_;  ///< by node
};

void require_tree(const Dendrogram& tree) {
  const size_t nodes = tree.leaves.size();
  const Attempt drawing{"drawing a dendrogram"};
  if (nodes == 0) drawing.fail("no leaf", "at least one");
  if (tree.joins.size() + 1 != nodes)
    drawing.fail(fmt::format("{} joins of {} leaves", tree.joins.size(), nodes),
                 "one fewer than leaves");
}

}  // namespace

std::vector<size_t> leaf_order(const Dendrogram& tree) {
  require_tree(tree);
  std::vector<size_t> open = {tree.leaves.size() + tree.joins.size() - 1}, order;
  while (!open.empty()) {
    const size_t node = open.back();
    open.pop_back();
    if (node < tree.leaves.size()) {
      order.push_back(node);
      continue;
    }
    const Dendrogram::Join& join = tree.joins[node - tree.leaves.size()];
    open.push_back(join.other);
    open.push_back(join.one);
  }
  return order;
}

std::vector<int64_t> node_colors(const Dendrogram& tree) {
  const size_t leaves = tree.leaves.size();
  std::vector<int64_t> colors(leaves + tree.joins.size(), -1);
  std::vector<size_t> group(colors.size());  // the topmost node that a node is coloured with
  for (size_t node = colors.size(); node-- > 0;) group[node] = node;
  for (size_t i = tree.joins.size(); i-- > 0;) {
    if (tree.joins[i].lift <= 1) continue;
    for (const size_t child : {tree.joins[i].one, tree.joins[i].other})
      group[child] = group[leaves + i];
  }
  std::vector<size_t> seen;
  for (const size_t leaf : leaf_order(tree))
    if (std::find(seen.begin(), seen.end(), group[leaf]) == seen.end()) seen.push_back(group[leaf]);
  for (size_t node = 0; node < colors.size(); ++node) {
    if (node >= leaves && tree.joins[node - leaves].lift <= 1) continue;
    colors[node] = std::find(seen.begin(), seen.end(), group[node]) - seen.begin();
  }
  return colors;
}

std::string dendrogram_svg(const Dendrogram& tree) {
  SvgCanvas canvas;
  Layout layout(canvas, tree, /*with_title=*/false);
  layout.draw();
  const std::string description = fmt::format("{}: {} groups of components join one after another.",
                                              tree.title, tree.leaves.size());
  return fmt::format(
      "<svg class=\"tree\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">"
      "<title>{}</title><desc>{}</desc>{}</svg>\n",
      layout.width(), layout.height(), escape_html(tree.title), escape_html(tree.title),
      escape_html(description), canvas.markup());
}

Image draw_dendrogram(const Dendrogram& tree) {
  const auto pixels = [](double length) { return std::lround(std::ceil(length * kTreeScale)); };
  Image nothing;
  RasterCanvas measuring(nothing, kTreeScale);
  const Layout measured(measuring, tree, /*with_title=*/true);
  const double title = 2 * kTreeMargin + std::max(measuring.text_width(tree.title, Part::title),
                                                  measuring.text_width(kExplanation, Part::label));
  Image image =
      Image::filled(3, pixels(measured.height()), pixels(std::max(title, measured.width())), 255);
  RasterCanvas canvas(image, kTreeScale);
  Layout(canvas, tree, /*with_title=*/true).draw();
  return image;
}

}  // namespace facet
