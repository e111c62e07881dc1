// Exact updates from all encodings, and moves that change the number of components.
#include "facet/prior/exact_fit.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/prior/initialise.h"
#include "facet/prior/moves.h"
#include "facet/prior/student_t.h"
#include "tests/close.h"

namespace facet {
namespace {

/// Encodings in `clusters` clusters, three standard deviations wide at a distance of about ten.
FactorData clustered(const Key& key, int64_t clusters, int64_t images, int64_t dimensions) {
  const torch::Tensor centres = 4.0 * normal64(key.fold("centres"), {clusters, dimensions});
  const torch::Tensor mean = centres.index_select(0, torch::arange(images).remainder(clusters)) +
                             0.5 * normal64(key.fold("images"), {images, dimensions});
  return {{mean, torch::full_like(mean, 0.1)}, {}, 1.0};
}

int64_t living(const FactorPosterior& posterior, const FactorHyperprior& hyperprior) {
  return (posterior.counts - hyperprior.count).gt(1).sum().item<int64_t>();
}

TEST(ExactUpdate, IsTheFullBatchStepAndRaisesTheBound) {
  FactorData data = clustered(Key(1), 5, 700, 3);
  data.scale = 2.5;
  const FactorHyperprior hyperprior(Hyperprior{}, 3);
  FactorPosterior posterior = random_posterior(Key(2), 6, 3);
  FactorPosterior expected = posterior.to(torch::kCPU);
  natural_step(expected,
               conjugate_posterior(statistics(data.block, e_step(data.block, posterior, {})), 2.5,
                                   hyperprior),
               number(1.0));
  exact_update(posterior, data, hyperprior);
  EXPECT_TRUE(close(posterior.components.alpha, expected.components.alpha, 1e-12));
  EXPECT_TRUE(close(posterior.counts, expected.counts, 1e-12));
  double previous = factor_bound(posterior, data, hyperprior);
  for (int i = 0; i < 10; ++i) {
    exact_update(posterior, data, hyperprior);
    const double now = factor_bound(posterior, data, hyperprior);
    EXPECT_GE(now, previous - 1e-8) << i;
    previous = now;
  }
}

TEST(ExactUpdate, OfManyComponentsIsDoneInSlices) {
  const FactorData data = clustered(Key(3), 5, 9000, 2);  // more than 2^22 / 600 rows
  const FactorHyperprior hyperprior(Hyperprior{}, 2);
  FactorPosterior posterior = random_posterior(Key(4), 600, 2);
  const torch::Tensor gamma = e_step(data.block, posterior, {});
  exact_update(posterior, data, hyperprior);
  EXPECT_TRUE(close(posterior.counts - hyperprior.count, gamma.sum(0), 1e-9, 1e-9));
}

TEST(MergeAndSplit, FindsTheNumberOfClustersFromBelowAndFromAbove) {
  const FactorData data = clustered(Key(5), 8, 1600, 4);
  const FactorHyperprior hyperprior(Hyperprior{}, 4);
  // From below: all images in one component of sixteen. From above: two components per cluster.
  for (const int64_t start : {1, 16}) {
    FactorialMixture mixture({{"digit", 16, 4}}, Hyperprior{});
    FactorPosterior& posterior = mixture.posteriors[0];
    const FactorPosterior placed =
        initial_posterior(Key(6), data.block, start, 1600, 20, hyperprior);
    for (const auto& [to, from] :
         {std::pair{posterior.components.alpha, placed.components.alpha},
          std::pair{posterior.components.log_alpha, placed.components.log_alpha},
          std::pair{posterior.components.alpha_mu, placed.components.alpha_mu},
          std::pair{posterior.components.alpha_mu2, placed.components.alpha_mu2},
          std::pair{posterior.counts, placed.counts}})
      to.narrow(0, 0, start).copy_(from);
    double previous = -1e300;
    for (uint64_t round = 0; round < 8; ++round) {
      exact_update(posterior, data, hyperprior);
      merge_and_split(MoveGoal::evidence, Key(7).fold(round), posterior, data, hyperprior);
      const double now = factor_bound(posterior, data, hyperprior);
      EXPECT_GE(now, previous - 1e-8) << "round " << round;
      previous = now;
    }
    for (int i = 0; i < 5; ++i) exact_update(posterior, data, hyperprior);
    EXPECT_EQ(living(posterior, hyperprior), 8) << "from " << start;
  }
}

TEST(MergeAndSplit, LeavesOneGaussianAlone) {
  const FactorData data = clustered(Key(8), 1, 500, 6);
  const FactorHyperprior hyperprior(Hyperprior{}, 6);
  for (const MoveGoal goal : {MoveGoal::evidence, MoveGoal::held_out}) {
    FactorialMixture mixture({{"digit", 8, 6}}, Hyperprior{});
    FactorPosterior& posterior = mixture.posteriors[0];
    posterior.counts[0] = 500.0;
    for (int i = 0; i < 3; ++i) exact_update(posterior, data, hyperprior);
    EXPECT_EQ(merge_and_split(goal, Key(9), posterior, data, hyperprior).split, 0);
  }
}

TEST(MoveGoal, OfImagesLeftOutIsTheSumOfTheirPredictiveDensities) {
  const FactorData data = clustered(Key(13), 1, 60, 3);
  const FactorHyperprior hyperprior({.s0 = 2.0, .a0 = 1.5, .b0 = 0.7}, 3);
  const BlockEncoding points{data.block.mean};  // without a variance
  const auto fitted = [&](const torch::Tensor& gamma) {
    return conjugate_posterior(statistics(points, gamma), 1.0, hyperprior);
  };
  double left_out = 0;
  for (int64_t n = 0; n < 60; ++n) {
    torch::Tensor others = torch::ones({60, 1}, kFloat64);
    others[n] = 0.0;
    left_out +=
        student_t_log_density(points.mean.narrow(0, n, 1), fitted(others).mean()).item<double>();
  }
  const FactorPosterior all = fitted(torch::ones({60, 1}, kFloat64));
  const double worth =
      component_worth(MoveGoal::held_out, all.components, hyperprior).item<double>();
  const double in_sample = student_t_log_density(points.mean, all.mean()).sum().item<double>();
  EXPECT_NEAR(worth, left_out, 0.1 * (in_sample - left_out));
}

TEST(MoveGoal, IsWhatMergedComponentsChange) {
  const FactorData data = clustered(Key(14), 4, 400, 3);
  const FactorHyperprior hyperprior(Hyperprior{}, 3);
  FactorPosterior posterior = initial_posterior(Key(15), data.block, 6, 400, 20, hyperprior);
  for (int i = 0; i < 50; ++i) exact_update(posterior, data, hyperprior);
  for (const MoveGoal goal : {MoveGoal::evidence, MoveGoal::held_out}) {
    // At the optimum of both responsibilities and components, the sum of the parts is the whole.
    const torch::Tensor gamma = e_step(data.block, posterior, {});
    const double parts =
        component_worth(goal, posterior.components, hyperprior).sum().item<double>() +
        weights_worth(goal, to_doubles(posterior.counts), hyperprior) -
        torch::xlogy(gamma, gamma).sum().item<double>();
    const double whole = factor_worth(goal, posterior, data, hyperprior);
    FactorPosterior other = initial_posterior(Key(16), data.block, 6, 400, 1, hyperprior);
    for (int i = 0; i < 50; ++i) exact_update(other, data, hyperprior);
    const torch::Tensor other_gamma = e_step(data.block, other, {});
    const double other_parts =
        component_worth(goal, other.components, hyperprior).sum().item<double>() +
        weights_worth(goal, to_doubles(other.counts), hyperprior) -
        torch::xlogy(other_gamma, other_gamma).sum().item<double>();
    EXPECT_NEAR(parts - other_parts, whole - factor_worth(goal, other, data, hyperprior), 1e-4);
  }
}

TEST(MergeAndSplit, SortsStickBreakingComponents) {
  const FactorData data = clustered(Key(10), 6, 1200, 3);
  FactorialMixture mixture({{"digit", 12, 3}}, Hyperprior{}, torch::kCPU, /*stick_breaking=*/true);
  FactorPosterior& posterior = mixture.posteriors[0];
  posterior.assign(initial_posterior(Key(11), data.block, 12, 1200, 20, mixture.hyperpriors[0]));
  double previous = -1e300;
  for (uint64_t round = 0; round < 6; ++round) {
    sort_components(posterior);
    exact_update(posterior, data, mixture.hyperpriors[0]);
    merge_and_split(MoveGoal::evidence, Key(12).fold(round), posterior, data,
                    mixture.hyperpriors[0]);
    const double now = factor_bound(posterior, data, mixture.hyperpriors[0]);
    EXPECT_GE(now, previous - 1e-8) << "round " << round;
    previous = now;
  }
  EXPECT_EQ(living(posterior, mixture.hyperpriors[0]), 6);
}

}  // namespace
}  // namespace facet
