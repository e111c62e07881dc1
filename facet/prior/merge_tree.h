// A tree over the living components of a factor. Components are finer than the classes that people
// know: a digit is written in many ways, and each way is a component. The tree merges groups of
// components, two at a time, without any label.
//
// Which two merge is decided by neighbourhood. Draws of component i would belong to component j
// with probability P(j | i) if i did not exist (eq:resp without i). With the weights pi,
//   F_ij = (pi_i P(j | i) + pi_j P(i | j)) / 2
// is how often i and j are neighbours, and of two groups, as sums over their components,
//   lift(A, B) = F(A, B) / (F(A) F(B))
// is how much more often than by chance. The pair with the highest lift merges. (The loss of bound,
// which every merge comes with, is a poor guide: it asks whether a group is one Gaussian, and a
// class is not.) mathematics.md compares the rules.
#pragma once

#include <cstdint>
#include <vector>

#include "facet/prior/sampling.h"

namespace facet {

/// Two groups become one.
struct Merge {
  int64_t into = 0, from = 0;  ///< a component of each: the first one of the group
  double lift = 0;             ///< of the two groups; never higher than that of the merge before
  /// What the bound loses, in nats over all training images, if the group becomes one component
  /// and every image belongs to one component only; negative if the bound rises.
  double loss = 0;
};

struct MergeTree {
  std::vector<double> images;  ///< expected number of training images per component, [K]
  /// [K]: a living component itself; of a dead one, the living one that takes images at its mean.
  std::vector<int64_t> leaf;
  std::vector<Merge> merges;  ///< one fewer than living components, in order

  int64_t living() const { return static_cast<int64_t>(merges.size()) + 1; }

  /// The living components in `count` groups, 1 to living(). Groups and the components of each are
  /// in the order of their images, most first. Throws an Error for another count.
  Groups cut(int64_t count) const;
  /// The index of every component's group in cut(count), [K]; a dead one has that of its leaf.
  std::vector<int64_t> group_of(int64_t count) const;

  /// The number of groups that are neighbours less often than by chance: merges go on while the
  /// lift is above 1.
  int64_t natural_cut() const;
  /// The number of groups with the highest bound, each group taken as one component.
  int64_t bound_cut() const;
};

/// P(j | i) for living components: where draws of i would go without it, [L, L] with zeros on the
/// diagonal, float64 on the CPU. `living` are L component numbers. The draws depend on `key` alone.
torch::Tensor next_components(const Key& key, const FactorPosterior& posterior,
                              const std::vector<int64_t>& living, int64_t draws);

/// The tree of one factor. It is the same on every device. Throws an Error without a living
/// component.
MergeTree merge_tree(const FactorPosterior& posterior, const FactorHyperprior& hyperprior);

}  // namespace facet
