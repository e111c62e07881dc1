// Groups of merged components against known classes, at every cut of a tree.
#include "facet/eval/merged_clusters.h"

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/prior/merge_tree.h"

namespace facet {
namespace {

/// Components 0 and 1 merge first, then 3 and 4, then all; 2 is dead and nearest to 3.
MergeTree small_tree() {
  MergeTree tree;
  tree.images = {40, 30, 0, 20, 10};
  tree.leaf = {0, 1, 3, 3, 4};
  tree.merges = {{0, 1, 8.0, -3.0}, {3, 4, 2.0, 5.0}, {0, 3, 0.1, 70.0}};
  return tree;
}

TEST(MergedEvaluation, CountsGroupsFromTwoToAllLivingComponents) {
  const MergedEvaluation merged = evaluate_merges(small_tree());
  EXPECT_EQ(merged.living, 4);
  EXPECT_EQ(merged.natural_groups, 2) << "the last merge has a lift below 1";
  EXPECT_EQ(merged.bound_groups, 3) << "the first merge alone raises the bound";
  EXPECT_EQ(merged.lift, (std::vector<double>{0.1, 2.0, 8.0})) << "of the two closest groups";
  EXPECT_EQ(merged.loss, (std::vector<double>{2.0, -3.0, 0.0})) << "of all merges so far";
}

TEST(MergedEvaluation, AgreementIsPerfectWhereGroupsAreClasses) {
  // Classes are {0, 1} and {2, 3, 4}; one image of component 4 is in the wrong class, and one label
  // is unknown.
  const std::vector<int64_t> codes = {0, 0, 1, 1, 2, 3, 3, 4, 4, 0},
                             classes = {1, 1, 1, 1, 0, 0, 0, 0, 1, -1};
  const CutAgreement cuts = cut_agreement(small_tree(), codes, classes, "kind", 2);
  EXPECT_EQ(cuts.property, "kind");
  ASSERT_EQ(cuts.accuracy.size(), 3u);
  EXPECT_DOUBLE_EQ(cuts.accuracy[cuts.entry(2)], 8.0 / 9);
  // Three groups: {0, 1}, {3, 2} and {4}, of which one stays without a class.
  EXPECT_DOUBLE_EQ(cuts.accuracy[cuts.entry(3)], 7.0 / 9);
  EXPECT_DOUBLE_EQ(cuts.accuracy[cuts.entry(4)], 5.0 / 9);
  EXPECT_GT(cuts.nmi[cuts.entry(2)], cuts.nmi[cuts.entry(4)]);
  EXPECT_GT(cuts.adjusted_rand[cuts.entry(2)], cuts.adjusted_rand[cuts.entry(4)]);
}

TEST(MergedEvaluation, JsonHasOneNumberForEveryCut) {
  MergedEvaluation merged = evaluate_merges(small_tree());
  merged.properties.push_back(cut_agreement(small_tree(), {0, 3}, {0, 1}, "kind", 2));
  const Json json = to_json(merged);
  EXPECT_EQ(json["groups"], Json({2, 3, 4}));
  EXPECT_EQ(json["natural_groups"], 2);
  EXPECT_EQ(json["bound_groups"], 3);
  for (const char* name : {"accuracy", "nmi", "adjusted_rand"})
    EXPECT_EQ(json["properties"]["kind"][name].size(), 3u) << name;
  EXPECT_EQ(json["lift"].size(), 3u);
  EXPECT_EQ(json["loss"].size(), 3u);
  EXPECT_EQ(merged.of("other"), nullptr);
  ASSERT_NE(merged.of("kind"), nullptr);
}

}  // namespace
}  // namespace facet
