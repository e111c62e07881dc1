// A dendrogram with pictures: how groups of components join, from many on the right to one on the
// left. The position of a join says how often its two groups are neighbours, relative to chance
// (prior/merge_tree.h); joins left of chance divide the groups that the tree itself suggests, and
// each of these has a colour. Drawn as SVG for a page or as a picture, by one layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "facet/data/image.h"

namespace facet {

struct Dendrogram {
  struct Leaf {
    std::string label;            ///< "3.2 %, 12 components"
    std::vector<Image> pictures;  ///< of its heaviest components, all of one size
  };
  /// Nodes are numbered: leaves first, then joins in order.
  struct Join {
    size_t one = 0, other = 0;
    double lift = 0;  ///< not higher than that of the join before
  };
  std::string title;
  std::vector<Leaf> leaves;
  std::vector<Join> joins;  ///< one fewer than leaves
};

/// The leaves from top to bottom, so that no lines cross.
std::vector<size_t> leaf_order(const Dendrogram& tree);

/// The colour of every node: the number of its group among those that joins with a lift of at most
/// 1 divide, from top to bottom; -1 for these joins themselves.
std::vector<int64_t> node_colors(const Dendrogram& tree);

/// The drawing for a page, with a description for those who do not see it. Its title is not drawn:
/// it is a heading of the page.
std::string dendrogram_svg(const Dendrogram& tree);

/// The same as an RGB picture below its title.
Image draw_dendrogram(const Dendrogram& tree);

}  // namespace facet
