// How well groups of merged components agree with known classes, at every cut of a factor's tree
// (prior/merge_tree.h). The tree is made without labels; only the comparison uses them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/options.h"

namespace facet {

struct MergeTree;

/// Agreement with one property. Entry i is for i + 2 groups.
struct CutAgreement {
  std::string property;
  int64_t values = 0;            ///< of the property
  std::vector<double> accuracy;  ///< under the best one-to-one matching of groups to values
  std::vector<double> nmi, adjusted_rand;

  size_t entry(int64_t groups) const { return static_cast<size_t>(groups - 2); }
};

struct MergedEvaluation {
  int64_t living = 0;  ///< components: the largest number of groups
  int64_t natural_groups = 0, bound_groups = 0;
  /// Of the two closest groups. Entry i is for i + 2 groups.
  std::vector<double> lift;
  /// What the bound has lost so far, in nats over all training images. Entry i is for i + 2 groups.
  std::vector<double> loss;
  std::vector<CutAgreement> properties;  ///< one per property with known labels

  /// The agreement with a property; null if there is none.
  const CutAgreement* of(const std::string& property) const;
};

/// The tree's own numbers, without properties. The tree has at least two leaves.
MergedEvaluation evaluate_merges(const MergeTree& tree);

/// `codes` are components of images; `classes` are their values of the property, -1 where unknown.
CutAgreement cut_agreement(const MergeTree& tree, const std::vector<int64_t>& codes,
                           const std::vector<int64_t>& classes, const std::string& property,
                           int64_t values);

Json to_json(const MergedEvaluation& merged);

}  // namespace facet
