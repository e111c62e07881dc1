// Trees as drawings: no lines cross, groups have their colours, pictures are there, and closer
// groups join further right.
#include "facet/report/dendrogram.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "facet/data/image_file.h"
#include "facet/report/html.h"
#include "tests/message_of.h"
#include "tests/report/drawings.h"
#include "tests/report/well_formed.h"

namespace facet {
namespace {

/// Leaves 0 and 3 are close, then 1 and 4, then 2 joins these; the last join is below chance.
Dendrogram small_tree() {
  Dendrogram tree;
  tree.title = "<digit>: 5 components";
  for (int i = 0; i < 5; ++i)
    tree.leaves.push_back(
        {"leaf " + std::to_string(i), {Image::filled(1, 28, 28, static_cast<uint8_t>(50 * i))}});
  tree.joins = {{0, 3, 30}, {1, 4, 8}, {6, 2, 2}, {5, 7, 0.2}};
  return tree;
}

TEST(Dendrogram, LeavesOfOneGroupStandTogether) {
  EXPECT_EQ(leaf_order(small_tree()), (std::vector<size_t>{0, 3, 1, 4, 2}));
}

TEST(Dendrogram, GroupsAboveChanceHaveAColourEach) {
  const std::vector<int64_t> colors = node_colors(small_tree());
  EXPECT_EQ(colors, (std::vector<int64_t>{0, 1, 1, 0, 1, 0, 1, 1, -1}));
  Dendrogram close = small_tree();
  close.joins.back().lift = 1.5;
  EXPECT_EQ(node_colors(close), std::vector<int64_t>(9, 0));
}

TEST(Dendrogram, SvgIsWellFormedAndHoldsEveryPicture) {
  const Dendrogram tree = small_tree();
  const std::string svg = dendrogram_svg(tree);
  EXPECT_EQ(fault_in_tags(svg), "");
  EXPECT_NE(svg.find("&lt;digit&gt;"), std::string::npos);
  for (const Dendrogram::Leaf& leaf : tree.leaves) {
    EXPECT_NE(svg.find(leaf.label), std::string::npos);
    EXPECT_NE(svg.find(png_address(encode_png(leaf.pictures.front()))), std::string::npos);
  }
  EXPECT_NE(svg.find("chance"), std::string::npos);
}

/// Whether a pixel is the vermilion of the second group.
bool is_vermilion(const Image& image, int64_t row, int64_t column) {
  return image.at(0, row, column) > 190 && image.at(2, row, column) < 40;
}

TEST(Dendrogram, CloserGroupsJoinFurtherRight) {
  const Image image = draw_dendrogram(small_tree());
  int64_t blue = image.width, vermilion = image.width;  // the leftmost column of each
  for (int64_t row = 0; row < image.height; ++row)
    for (int64_t column = image.width - 1; column >= 0; --column) {
      if (is_blue(image, row, column)) blue = std::min(blue, column);
      if (is_vermilion(image, row, column)) vermilion = std::min(vermilion, column);
    }
  // Both reach to the last join; what differs is where their own joins are, as the vertical lines.
  const auto vertical = [&](const auto& is_color) {
    int64_t best = 0, most = 0;
    for (int64_t column = 0; column < image.width; ++column) {
      int64_t rows = 0;
      for (int64_t row = 0; row < image.height; ++row) rows += is_color(image, row, column);
      if (rows > most) best = column, most = rows;
    }
    return best;
  };
  EXPECT_NEAR(static_cast<double>(blue), static_cast<double>(vermilion), 4);
  EXPECT_GT(vertical(is_blue), vertical(is_vermilion));
}

TEST(Dendrogram, PicturesKeepTheirPixels) {
  Dendrogram tree = small_tree();
  Image& picture = tree.leaves[3].pictures.front();
  picture = Image::filled(3, 28, 28, 0);
  for (int64_t row = 0; row < 28; ++row)
    for (int64_t column = 0; column < 28; ++column) picture.at(1, row, column) = 200;
  const Image image = draw_dendrogram(tree);
  int64_t green = 0;
  for (int64_t row = 0; row < image.height; ++row)
    for (int64_t column = 0; column < image.width; ++column)
      green += image.at(0, row, column) == 0 && image.at(1, row, column) == 200 &&
               image.at(2, row, column) == 0;
  EXPECT_EQ(green, 56 * 56) << "every pixel as a square of two by two";
}

TEST(Dendrogram, OfOneLeafIsDrawn) {
  Dendrogram tree = small_tree();
  tree.leaves.resize(1);
  tree.joins.clear();
  EXPECT_GT(draw_dendrogram(tree).width, 0);
  EXPECT_EQ(fault_in_tags(dendrogram_svg(tree)), "");
}

TEST(Dendrogram, GroupsThatAreNeverNeighboursAreDrawnToo) {
  Dendrogram tree = small_tree();
  for (Dendrogram::Join& join : tree.joins) join.lift = 0;
  EXPECT_GT(draw_dendrogram(tree).width, 0);
  EXPECT_EQ(dendrogram_svg(tree).find("nan"), std::string::npos);
}

TEST(Dendrogram, RefusesWhatIsNoTree) {
  Dendrogram tree = small_tree();
  tree.joins.pop_back();
  EXPECT_NE(message_of([&] { draw_dendrogram(tree); }).find("3 joins of 5 leaves"),
            std::string::npos);
  EXPECT_NE(message_of([] { dendrogram_svg({}); }).find("no leaf"), std::string::npos);
}

}  // namespace
}  // namespace facet
