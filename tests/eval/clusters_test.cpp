// Agreement of clusters with classes, against brute force and tables computed by hand.
#include "facet/eval/clusters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace facet {
namespace {

/// The best accuracy over all one-to-one matchings: permutations of the longer side.
double brute_force_accuracy(const Contingency& table) {
  const size_t clusters = table.size(), classes = table.front().size();
  std::vector<size_t> order(std::max(clusters, classes));
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t best = 0, total = 0;
  for (const auto& row : table) total += std::accumulate(row.begin(), row.end(), int64_t{0});
  do {
    int64_t sum = 0;
    for (size_t k = 0; k < clusters; ++k)
      if (order[k] < classes) sum += table[k][order[k]];
    best = std::max(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return static_cast<double>(best) / static_cast<double>(total);
}

/// I(cluster; class) = H(cluster) + H(class) - H(both), from lists of items.
struct Entropies {
  double clusters = 0, classes = 0, both = 0;
  double information() const { return clusters + classes - both; }
};
Entropies entropies(const std::vector<int64_t>& clusters, const std::vector<int64_t>& classes) {
  std::map<int64_t, double> p, q;
  std::map<std::pair<int64_t, int64_t>, double> joint;
  for (size_t n = 0; n < clusters.size(); ++n) {
    const double share = 1.0 / static_cast<double>(clusters.size());
    p[clusters[n]] += share;
    q[classes[n]] += share;
    joint[{clusters[n], classes[n]}] += share;
  }
  const auto entropy = [](const auto& weights) {
    double sum = 0;
    for (const auto& [key, weight] : weights) sum -= weight * std::log(weight);
    return sum;
  };
  return {entropy(p), entropy(q), entropy(joint)};
}

std::vector<int64_t> random_items(std::mt19937& random, size_t count, int64_t kinds) {
  std::vector<int64_t> items(count);
  for (int64_t& item : items) item = static_cast<int64_t>(random() % static_cast<uint64_t>(kinds));
  return items;
}

TEST(Clusters, AccuracyIsTheBestOfAllMatchings) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const size_t clusters = 1 + random() % 6, classes = 1 + random() % 6;
    const int64_t largest = trial % 3 == 0 ? 3 : 50;  // small numbers give many ties
    Contingency table(clusters, std::vector<int64_t>(classes));
    for (auto& row : table)
      for (int64_t& count : row)
        count = static_cast<int64_t>(random() % static_cast<uint64_t>(largest));
    table[0][0] += 1;
    EXPECT_NEAR(matched_accuracy(table), brute_force_accuracy(table), 1e-12)
        << clusters << " x " << classes;
  }
}

TEST(Clusters, MutualInformationIsTheSharedEntropy) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const auto clusters = random_items(random, 40, 5), classes = random_items(random, 40, 3);
    const Contingency table = contingency(clusters, classes, 5, 3);
    const Entropies expected = entropies(clusters, classes);
    EXPECT_NEAR(mutual_information(table), expected.information(), 1e-12);
    EXPECT_NEAR(normalised_mutual_information(table),
                expected.information() / (0.5 * (expected.clusters + expected.classes)), 1e-12);
  }
}

/// The adjusted Rand index by counting over all pairs of items: together in both lists, apart in
/// both, or together in one only.
double adjusted_rand_of_pairs(const std::vector<int64_t>& one, const std::vector<int64_t>& other) {
  double together = 0, apart = 0, first_only = 0, second_only = 0;
  for (size_t n = 0; n < one.size(); ++n)
    for (size_t m = 0; m < n; ++m) {
      const bool first = one[n] == one[m], second = other[n] == other[m];
      (first && second ? together : first ? first_only : second ? second_only : apart) += 1;
    }
  return 2 * (together * apart - first_only * second_only) /
         ((together + first_only) * (first_only + apart) +
          (together + second_only) * (second_only + apart));
}

TEST(Clusters, AdjustedRandIndexCountsPairs) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const auto clusters = random_items(random, 30, 5), classes = random_items(random, 30, 3);
    EXPECT_NEAR(adjusted_rand_index(contingency(clusters, classes, 5, 3)),
                adjusted_rand_of_pairs(clusters, classes), 1e-12);
  }
}

TEST(Clusters, AdjustedRandIndexOfKnownTables) {
  // The examples of scikit-learn's documentation of adjusted_rand_score.
  EXPECT_NEAR(adjusted_rand_index(contingency({0, 0, 1, 2}, {0, 0, 1, 1}, 3, 2)), 4 / 7.0, 1e-12);
  EXPECT_NEAR(adjusted_rand_index(contingency({0, 0, 1, 1}, {0, 1, 0, 1}, 2, 2)), -0.5, 1e-12);
  EXPECT_NEAR(adjusted_rand_index(contingency({2, 0, 1, 2, 0}, {0, 1, 2, 0, 1}, 3, 3)), 1, 1e-12);
  // By hand: 11 pairs together, 19 and 30 in the groups, 66 in all.
  EXPECT_NEAR(adjusted_rand_index({{4, 1}, {0, 3}, {2, 2}}),
              (11 - 19 * 30 / 66.0) / (0.5 * (19 + 30) - 19 * 30 / 66.0), 1e-12);
}

TEST(Clusters, AdjustedRandIndexOfChanceIsZero) {
  std::mt19937 random(4);
  double sum = 0;
  for (int trial = 0; trial < 400; ++trial)
    sum += adjusted_rand_index(
        contingency(random_items(random, 60, 4), random_items(random, 60, 3), 4, 3));
  // One draw has a standard deviation of about 0.02.
  EXPECT_NEAR(sum / 400, 0, 5 * 0.02 / 20);
}

TEST(Clusters, GapIsTheLeadOfTheBestOverTheSecond) {
  EXPECT_NEAR(information_gap({0.1, 0.9, 0.3}, 1.2), 0.6 / 1.2, 1e-15);
  EXPECT_NEAR(information_gap({0.9, 0.3, 0.1}, 1.2), 0.6 / 1.2, 1e-15);
  EXPECT_NEAR(information_gap({0.4, 0.4}, 0.5), 0, 1e-15);
  EXPECT_NEAR(information_gap({0.4}, 0.5), 0.8, 1e-15) << "the second best of one is 0";
}

TEST(Clusters, DependenceSeparatesCopiesFromIndependentCodes) {
  // All pairs of 0..3 and 0..2, so that the first two codes are independent; the third is the first
  // with its values renamed.
  std::vector<std::vector<int64_t>> codes(3);
  for (int64_t a = 0; a < 4; ++a)
    for (int64_t b = 0; b < 3; ++b) {
      codes[0].push_back(a);
      codes[1].push_back(b);
      codes[2].push_back((a + 1) % 4);
    }
  const auto matrix = dependence(codes, {4, 3, 4});
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(matrix[i][i], 1);
  EXPECT_NEAR(matrix[0][1], 0, 1e-12);
  EXPECT_NEAR(matrix[1][2], 0, 1e-12);
  EXPECT_NEAR(matrix[0][2], 1, 1e-12);
  EXPECT_EQ(matrix[2][0], matrix[0][2]);
  EXPECT_NEAR(mean_dependence(matrix), 1 / 3.0, 1e-12);
  EXPECT_EQ(mean_dependence(dependence({codes[0]}, {4})), 0) << "there is no other factor";
}

TEST(Clusters, PinnedTable) {
  // Three clusters, two classes, twelve items; expected values computed by hand.
  const Contingency table = {{4, 1}, {0, 3}, {2, 2}};
  EXPECT_NEAR(purity(table), (4 + 3 + 2) / 12.0, 1e-15);
  EXPECT_NEAR(matched_accuracy(table), (4 + 3) / 12.0, 1e-15);
  const double information = 4 / 12.0 * std::log(4 * 12 / 30.0) + 1 / 12.0 * std::log(12 / 30.0) +
                             3 / 12.0 * std::log(36 / 18.0) + 2 * (2 / 12.0 * std::log(24 / 24.0));
  EXPECT_NEAR(mutual_information(table), information, 1e-15);
  EXPECT_NEAR(information, 0.2535971106, 1e-9);
  EXPECT_NEAR(normalised_mutual_information(table), 0.2864365598, 1e-9);
}

TEST(Clusters, ExplainedShareIsOneForCopiesAndZeroInTheMeanForChance) {
  const Contingency copies = {{0, 300}, {0, 0}, {200, 0}, {0, 500}};
  // Three clusters and two classes have items: chance gives 1/1000 nats.
  EXPECT_NEAR(explained_share(copies), 1 - 1e-3 / entropy({200, 800}), 1e-12);
  std::mt19937 random(2);
  double sum = 0;
  for (int draw = 0; draw < 200; ++draw)
    sum += mutual_information(
               contingency(random_items(random, 2000, 20), random_items(random, 2000, 2), 20, 2)) -
           19.0 / 4000;
  // One draw has a standard deviation of about sqrt(19 / 2) / 2000 = 0.0015; four standard errors
  // of the mean of 200.
  EXPECT_NEAR(sum / 200, 0, 4.4e-4);
  EXPECT_EQ(explained_share({{5, 0}, {7, 0}}), 0) << "a single class has no entropy";
}

TEST(Clusters, TheStrongestPairIsNeitherRareNorEverywhere) {
  // Cluster 0 has nearly all items of class 1; cluster 2 has only that class, but two items.
  const Contingency table = {{10, 90}, {890, 8}, {0, 2}};
  const Standout found = strongest_pair(table);
  EXPECT_EQ(found.cluster, 0);
  EXPECT_EQ(found.klass, 1);
  EXPECT_EQ(found.items, 100);
  EXPECT_DOUBLE_EQ(found.share, 0.9);
  EXPECT_DOUBLE_EQ(found.usual_share, 0.1);
}

TEST(Clusters, PerfectAgreementUpToNamesIsOne) {
  const Contingency table = contingency({2, 0, 1, 2, 0}, {0, 1, 2, 0, 1}, 3, 3);
  EXPECT_NEAR(matched_accuracy(table), 1, 1e-15);
  EXPECT_NEAR(normalised_mutual_information(table), 1, 1e-15);
  EXPECT_NEAR(purity(table), 1, 1e-15);
}

TEST(Clusters, IndependenceHasNoInformation) {
  const Contingency table = {{2, 4}, {3, 6}};
  EXPECT_NEAR(mutual_information(table), 0, 1e-15);
  EXPECT_GE(mutual_information(table), 0);
}

TEST(Clusters, DegenerateTablesGiveFiniteNumbers) {
  EXPECT_EQ(normalised_mutual_information({{7}}), 0);
  EXPECT_EQ(matched_accuracy({{7}}), 1);
  const Contingency empty = {{0, 0}, {0, 0}};
  EXPECT_EQ(mutual_information(empty), 0);
  EXPECT_EQ(normalised_mutual_information(empty), 0);
  EXPECT_EQ(matched_accuracy(empty), 0);
  EXPECT_EQ(purity(empty), 0);
  EXPECT_EQ(adjusted_rand_index(empty), 0);
  EXPECT_EQ(adjusted_rand_index({{7}}), 1) << "the same single group";
  EXPECT_EQ(adjusted_rand_index({{1, 0}, {0, 1}}), 1) << "the same single items";
  EXPECT_EQ(adjusted_rand_index({{5, 5}}), 0) << "one group has no information";
}

TEST(Clusters, ItemsOfUnknownClassAreLeftOut) {
  const Contingency table = contingency({0, 1, 1, 0}, {1, -1, 0, -1}, 2, 2);
  EXPECT_EQ(table, (Contingency{{0, 1}, {1, 0}}));
}

TEST(Clusters, PerplexityOfEqualWeightsIsTheirNumber) {
  EXPECT_NEAR(perplexity({3, 3, 3, 3, 0}), 4, 1e-12);
  EXPECT_NEAR(perplexity({5}), 1, 1e-12);
  EXPECT_NEAR(perplexity({1000, 5e-324}), 1, 1e-12) << "a share that underflows to 0 counts as 0";
  EXPECT_NEAR(perplexity({3, 1}), std::exp(-0.75 * std::log(0.75) - 0.25 * std::log(0.25)), 1e-12);
}

}  // namespace
}  // namespace facet
