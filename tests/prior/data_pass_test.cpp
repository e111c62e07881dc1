// The tiled pass over all data against the formulas that it stands for, one operation each.
#include "facet/prior/data_pass.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/prior/softmax_rows.h"
#include "tests/close.h"

namespace facet {
namespace {

TEST(SoftmaxRows, IsTheSoftmaxWithItsSumsAndNormalisers) {
  const torch::Tensor scores = 30.0 * normal64(Key(1), {77, 24});
  scores[3][5] = -1e300;
  scores.select(0, 9).fill_(-5e4);  // all equal, far from zero
  torch::Tensor rows = scores.clone(), sums = torch::zeros({24}, kFloat64);
  const double total =
      softmax_rows(rows.data_ptr<double>(), 77, 24, nullptr, sums.data_ptr<double>());
  const torch::Tensor expected = torch::softmax(scores, 1);
  EXPECT_TRUE(close(rows, expected, 1e-14, 1e-250));
  EXPECT_TRUE(close(sums, expected.sum(0), 1e-13));
  EXPECT_NEAR(total, torch::logsumexp(scores, 1).sum().item<double>(), 1e-9);
}

TEST(SoftmaxRows, OfALabelledRowIsOneHot) {
  const torch::Tensor scores = normal64(Key(2), {3, 8});
  torch::Tensor rows = scores.clone(), sums = torch::zeros({8}, kFloat64);
  const int64_t labels[] = {-1, 6, -1};
  const double total = softmax_rows(rows.data_ptr<double>(), 3, 8, labels, sums.data_ptr<double>());
  EXPECT_TRUE(rows[1].equal(torch::one_hot(torch::full({}, 6, kInt64), 8).to(kFloat64)));
  const torch::Tensor others = torch::logsumexp(scores, 1);
  EXPECT_NEAR(total, (others[0] + others[2] + scores[1][6]).item<double>(), 1e-12);
}

/// The same from tensors [N, K].
DataPass slow_pass(const FactorPosterior& posterior, const FactorData& data) {
  const FactorData all = data.slice(0, data.images());
  const torch::Tensor gamma = e_step(all.block, posterior, all.labels);
  const torch::Tensor log_normal = expected_log_normal(all.block, posterior.mean());
  return {statistics(all.block, gamma),
          ((gamma * log_normal).sum() - kl_r(gamma, posterior.expected_log_weights()).sum())
              .item<double>()};
}

void expect_same(const DataPass& fast, const DataPass& slow) {
  EXPECT_TRUE(close(fast.statistics.counts, slow.statistics.counts, 1e-11, 1e-11));
  EXPECT_TRUE(close(fast.statistics.first, slow.statistics.first, 1e-10, 1e-10));
  EXPECT_TRUE(close(fast.statistics.second, slow.statistics.second, 1e-10, 1e-10));
  EXPECT_NEAR(fast.bound, slow.bound, 1e-11 * std::abs(slow.bound));
}

TEST(DataPass, OfEncodingsIsTheSumOfTheTerms) {
  const FactorData data{random_block(Key(1), 3001, 5), {}, 1.0};
  const FactorPosterior posterior = random_posterior(Key(2), 13, 5);
  expect_same(pass_over(posterior, data), slow_pass(posterior, data));
}

TEST(DataPass, OfPointsOfAnyTypeAndLayoutIsTheSame) {
  FactorData data{{(100.0 * normal64(Key(3), {9, 1500}) + 40.0).t().to(kFloat32).narrow(1, 2, 4)}};
  data.shift = torch::full({4}, 40.0, kFloat64);
  data.scale_by = torch::tensor(std::vector<double>{0.01, 0.02, 0.01, 0.005}, kFloat64);
  for (const int64_t components : {1, 8, 200}) {
    const FactorPosterior posterior = random_posterior(Key(4), components, 4);
    expect_same(pass_over(posterior, data), slow_pass(posterior, data));
  }
  data.block.mean = data.block.mean.to(kInt16);
  const FactorPosterior posterior = random_posterior(Key(5), 3, 4);
  expect_same(pass_over(posterior, data), slow_pass(posterior, data));
}

TEST(DataPass, KeepsLabelledImagesInTheirComponents) {
  FactorData data{{normal64(Key(6), {2100, 3})}};
  data.labels = torch::arange(2100).remainder(9) - 2;  // -2 and -1 are unknown
  const FactorPosterior posterior = random_posterior(Key(7), 7, 3);
  const DataPass pass = pass_over(posterior, data);
  expect_same(pass, slow_pass(posterior, data));
  EXPECT_GE(pass.statistics.counts.min().item<double>(), 2100 / 9);
}

TEST(DataPass, BoundOfPointsLeavesOutTheEntropy) {
  const FactorData points{{normal64(Key(8), {400, 3})}};
  const FactorPosterior posterior = random_posterior(Key(9), 5, 3);
  const FactorHyperprior hyperprior(Hyperprior{}, 3);
  // A narrow Gaussian around each point has the same bound but for its entropy.
  const double variance = 1e-9;
  const FactorData narrow{{points.block.mean, torch::full_like(points.block.mean, variance)}};
  const double entropy = 400 * 3 * 0.5 * (std::log(2 * M_PI * variance) + 1.0);
  EXPECT_NEAR(factor_bound(posterior, points, hyperprior),
              factor_bound(posterior, narrow, hyperprior) - entropy, 1e-4);
}

}  // namespace
}  // namespace facet
