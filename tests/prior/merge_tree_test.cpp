// The tree of components: against a slow reference, on mixtures whose classes are known, and its
// loss of bound against the bound itself.
#include "facet/prior/merge_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/prior/exact_fit.h"
#include "facet/prior/moves.h"
#include "tests/close.h"
#include "tests/message_of.h"

namespace facet {
namespace {

/// Components of unit variance at given places, with so many images each.
FactorPosterior components_at(const std::vector<std::vector<double>>& places,
                              const std::vector<double>& images) {
  const auto count = static_cast<int64_t>(places.size()),
             dimensions = static_cast<int64_t>(places.front().size());
  torch::Tensor m = torch::zeros({count, dimensions}, kFloat64);
  torch::Tensor counts = torch::tensor(images, kFloat64);
  for (int64_t k = 0; k < count; ++k)
    for (int64_t d = 0; d < dimensions; ++d)
      m[k][d] = places[static_cast<size_t>(k)][static_cast<size_t>(d)];
  const torch::Tensor n = counts.unsqueeze(1);
  return conjugate_posterior({counts, n * m, n * (m.square() + 1)}, 1.0,
                             FactorHyperprior(Hyperprior{}, dimensions));
}

/// Three arcs of a circle that cover a share of it. Arcs of 0.8 are far longer than the distance
/// between them: no arc is one Gaussian.
FactorPosterior arcs(int64_t components_per_arc, double covered) {
  std::vector<std::vector<double>> places;
  std::vector<double> images;
  for (int arc = 0; arc < 3; ++arc)
    for (int64_t i = 0; i < components_per_arc; ++i) {
      const double angle = 2.0944 * (arc + covered * static_cast<double>(i) /
                                               static_cast<double>(components_per_arc - 1));
      places.push_back({20 * std::cos(angle), 20 * std::sin(angle)});
      images.push_back(100 + static_cast<double>(10 * arc));
    }
  return components_at(places, images);
}

/// lift(A, B) straight from its definition, for all groups again after every merge.
std::vector<Merge> slow_merges(const torch::Tensor& next, const torch::Tensor& weights) {
  const int64_t count = next.size(0);
  const torch::Tensor one_way = (weights / weights.sum()).unsqueeze(1) * next;
  const torch::Tensor flow = (one_way + one_way.t()) / 2;
  std::vector<std::vector<int64_t>> groups;
  for (int64_t i = 0; i < count; ++i) groups.push_back({i});
  const auto between = [&](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    double sum = 0;
    for (const int64_t i : a)
      for (const int64_t j : b) sum += flow[i][j].item<double>();
    return sum;
  };
  std::vector<int64_t> all(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) all[static_cast<size_t>(i)] = i;
  std::vector<Merge> merges;
  while (groups.size() > 1) {
    size_t one = 0, other = 0;
    double highest = -1;
    for (size_t a = 0; a < groups.size(); ++a)
      for (size_t b = a + 1; b < groups.size(); ++b) {
        const double lift =
            between(groups[a], groups[b]) / (between(groups[a], all) * between(groups[b], all));
        if (lift > highest) one = a, other = b, highest = lift;
      }
    merges.push_back({groups[one].front(), groups[other].front(), highest, 0});
    groups[one].insert(groups[one].end(), groups[other].begin(), groups[other].end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(other));
  }
  return merges;
}

TEST(MergeTree, HasTheMergesOfASlowReference) {
  const FactorPosterior posterior = random_posterior(Key(1), 14, 2);
  const MergeTree tree = merge_tree(posterior, FactorHyperprior(Hyperprior{}, 2));
  std::vector<int64_t> living(14);
  for (int64_t k = 0; k < 14; ++k) living[static_cast<size_t>(k)] = k;
  const torch::Tensor next = next_components(Key(1).fold("merge tree"), posterior, living, 400);
  const std::vector<Merge> expected = slow_merges(next, posterior.expected_weights());
  ASSERT_EQ(tree.merges.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::minmax(tree.merges[i].into, tree.merges[i].from),
              std::minmax(expected[i].into, expected[i].from))
        << i;
    EXPECT_NEAR(tree.merges[i].lift, expected[i].lift, 1e-9 * expected[i].lift) << i;
    if (i > 0) {
      EXPECT_LE(tree.merges[i].lift, tree.merges[i - 1].lift * (1 + 1e-12)) << i;
    }
  }
}

TEST(MergeTree, NextComponentsAreTheEStepWithoutTheOwnOne) {
  const FactorPosterior posterior = random_posterior(Key(2), 5, 3);
  const torch::Tensor next = next_components(Key(3), posterior, {0, 2, 4}, 30);
  const torch::Tensor z =
      sample_blocks(Key(3).fold(uint64_t{2}), posterior, same_component(posterior, 2, 30));
  const torch::Tensor gamma = e_step({z, torch::zeros_like(z)}, posterior, {});
  const torch::Tensor zero = gamma.select(1, 0), four = gamma.select(1, 4);
  EXPECT_NEAR(next[1][0].item<double>(), (zero / (zero + four)).mean().item<double>(), 1e-10);
  EXPECT_NEAR(next[1][1].item<double>(), 0, 0);
  EXPECT_TRUE(close(next.sum(1), torch::ones({3}, kFloat64), 1e-12));
}

TEST(MergeTree, FindsClassesThatAreNoGaussians) {
  const int64_t per_arc = 9;
  const MergeTree tree = merge_tree(arcs(per_arc, 0.8), FactorHyperprior(Hyperprior{}, 2));
  const Groups groups = tree.cut(3);
  for (size_t g = 0; g < 3; ++g) {
    const std::set<int64_t> found(groups[g].begin(), groups[g].end());
    std::set<int64_t> arc;  // the last arc has most images
    for (int64_t i = 0; i < per_arc; ++i) arc.insert((2 - static_cast<int64_t>(g)) * per_arc + i);
    EXPECT_EQ(found, arc) << g;
  }
}

TEST(MergeTree, SuggestsTheNumberOfClasses) {
  EXPECT_EQ(merge_tree(arcs(4, 0.3), FactorHyperprior(Hyperprior{}, 2)).natural_cut(), 3);
}

TEST(MergeTree, CutsNestAndAreSortedByImages) {
  const FactorPosterior posterior = random_posterior(Key(4), 12, 2);
  const MergeTree tree = merge_tree(posterior, FactorHyperprior(Hyperprior{}, 2));
  for (int64_t count = 1; count <= tree.living(); ++count) {
    const Groups groups = tree.cut(count);
    ASSERT_EQ(static_cast<int64_t>(groups.size()), count);
    const std::vector<int64_t> own = tree.group_of(count);
    double previous = std::numeric_limits<double>::infinity();
    for (size_t g = 0; g < groups.size(); ++g) {
      double images = 0;
      for (const int64_t k : groups[g]) {
        EXPECT_EQ(own[static_cast<size_t>(k)], static_cast<int64_t>(g));
        images += tree.images[static_cast<size_t>(k)];
      }
      EXPECT_LE(images, previous);
      previous = images;
    }
    if (count == tree.living()) continue;
    const std::vector<int64_t> finer =
        tree.group_of(count + 1);  // whoever shares there, shares here
    for (size_t a = 0; a < own.size(); ++a)
      for (size_t b = 0; b < own.size(); ++b)
        if (finer[a] == finer[b]) {
          EXPECT_EQ(own[a], own[b]) << count;
        }
  }
}

TEST(MergeTree, DeadComponentsAreNoLeavesAndFollowTheirNearestOne) {
  const FactorPosterior posterior =
      components_at({{0, 0}, {9, 9}, {0.5, 0}, {30, 30}, {30, 31}}, {50, 0, 40, 60, 70});
  const MergeTree tree = merge_tree(posterior, FactorHyperprior(Hyperprior{}, 2));
  EXPECT_EQ(tree.living(), 4);
  EXPECT_EQ(tree.leaf[2], 2);
  EXPECT_TRUE(tree.leaf[1] == 0 || tree.leaf[1] == 2) << tree.leaf[1];
  EXPECT_EQ(tree.cut(2), (Groups{{4, 3}, {0, 2}}));
  EXPECT_EQ(tree.group_of(2), (std::vector<int64_t>{1, 1, 1, 0, 0}));
}

/// Images that belong to one component each: nothing of the bound is left to the entropy of
/// responsibilities.
TEST(MergeTree, LossIsThatOfTheBoundItself) {
  const FactorHyperprior hyperprior(Hyperprior{}, 2);
  const std::vector<std::vector<double>> places = {{0, 0}, {40, 0}, {0, 40}, {40, 40}};
  std::vector<torch::Tensor> means;
  for (size_t k = 0; k < places.size(); ++k)
    means.push_back(torch::tensor(places[k], kFloat64) +
                    normal64(Key(5).fold(k), {static_cast<int64_t>(30 + 10 * k), 2}));
  const torch::Tensor mean = torch::cat(means);
  const BlockEncoding block{mean, torch::full_like(mean, 0.1)};
  torch::Tensor one_hot = torch::zeros({mean.size(0), 5}, kFloat64);
  for (int64_t k = 0, row = 0; k < 4; ++k)
    for (int64_t i = 0; i < 30 + 10 * k; ++i) one_hot[row++][k] = 1;
  const auto bound = [&](const torch::Tensor& gamma) {
    const FactorPosterior best = conjugate_posterior(statistics(block, gamma), 1.0, hyperprior);
    const torch::Tensor scores = expected_log_normal(block, best.mean());
    const HyperpriorKl kl = hyperprior_kl(best.parameters(), hyperprior);
    return -(kl_z(block, scores, gamma).sum() + kl_r(gamma, best.expected_log_weights()).sum() +
             kl.components.sum() + kl.weights)
                .item<double>();
  };
  const MergeTree tree =
      merge_tree(conjugate_posterior(statistics(block, one_hot), 1.0, hyperprior), hyperprior);
  ASSERT_EQ(tree.merges.size(), 3u);
  double before = bound(one_hot);
  for (const Merge& merge : tree.merges) {
    one_hot.select(1, merge.into) += one_hot.select(1, merge.from);
    one_hot.select(1, merge.from).zero_();
    const double after = bound(one_hot);
    EXPECT_NEAR(merge.loss, before - after, 1e-6 * std::abs(before));
    before = after;
  }
  EXPECT_EQ(tree.bound_cut(), 4);  // far apart: the bound wants all of them
}

TEST(MergeTree, TheBoundPrefersOneComponentForTwoHalvesOfACluster) {
  const FactorHyperprior hyperprior(Hyperprior{}, 2);
  std::vector<torch::Tensor> parts;
  for (size_t k = 0; k < 4; ++k)  // two clusters of two components each
    parts.push_back(normal64(Key(6).fold(k), {50, 2}) + (k < 2 ? 0.0 : 30.0));
  const torch::Tensor mean = torch::cat(parts);
  torch::Tensor gamma = torch::zeros({200, 4}, kFloat64);
  for (int64_t i = 0; i < 200; ++i) gamma[i][i / 50] = 1;
  const MergeTree tree = merge_tree(
      conjugate_posterior(statistics({mean, torch::full_like(mean, 0.1)}, gamma), 1.0, hyperprior),
      hyperprior);
  EXPECT_EQ(tree.bound_cut(), 2);
}

TEST(MergeTree, StickBreakingWeightsDoNotChangeTheOrderOfClearClusters) {
  FactorialMixture prior({{"free", 12, 2}}, Hyperprior{}, torch::kCPU, /*stick_breaking=*/true);
  FactorPosterior posterior = arcs(4, 0.3);
  sort_components(posterior);
  prior.posteriors[0].assign(posterior);
  const MergeTree tree = merge_tree(prior.posteriors[0], prior.hyperpriors[0]);
  EXPECT_EQ(tree.natural_cut(), 3);
  for (const Merge& merge : tree.merges) EXPECT_TRUE(std::isfinite(merge.loss));
}

TEST(MergeTree, OfOneComponentIsOneGroup) {
  const MergeTree tree =
      merge_tree(components_at({{1, 2}, {0, 0}}, {30, 0}), FactorHyperprior(Hyperprior{}, 2));
  EXPECT_EQ(tree.living(), 1);
  EXPECT_EQ(tree.cut(1), (Groups{{0}}));
  EXPECT_EQ(tree.natural_cut(), 1);
  EXPECT_EQ(tree.bound_cut(), 1);
}

TEST(MergeTree, RefusesAnEmptyMixtureAndImpossibleCuts) {
  const FactorHyperprior hyperprior(Hyperprior{}, 2);
  const std::string empty = message_of([&] {
    merge_tree(components_at({{0, 0}, {1, 1}}, {0, 0}), hyperprior);
  });
  EXPECT_NE(empty.find("no living"), std::string::npos) << empty;
  const MergeTree tree = merge_tree(random_posterior(Key(7), 4, 2), hyperprior);
  for (const int64_t count : {0, 5, -1}) {
    const std::string message = message_of([&] { tree.cut(count); });
    EXPECT_NE(message.find("1 to 4"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace facet
