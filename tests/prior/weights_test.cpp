// The posterior of mixing weights, Dirichlet and stick-breaking, against draws from it.
#include "facet/prior/weights.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "tests/close.h"
#include "tests/prior/gamma_draws.h"

namespace facet {
namespace {

/// Whether `expected` is the mean of `values` over their first dimension, within five standard
/// errors: a correct formula fails for one key in a million.
testing::AssertionResult is_mean(const torch::Tensor& expected, const torch::Tensor& values) {
  const torch::Tensor error = values.std(0) / std::sqrt(static_cast<double>(kDraws));
  const torch::Tensor off = (values.mean(0) - expected).abs() / error.clamp_min(1e-12);
  if (off.max().item<double>() < 5) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "off by " << off.max().item<double>() << " errors";
}

const torch::Tensor kNone;

TEST(Dirichlet, ExpectationsAndDivergenceAreThoseOfDraws) {
  const torch::Tensor q = torch::tensor({3.0, 0.8, 12.0, 1.5}, kFloat64), c0 = number(0.7);
  const torch::Tensor weights = gamma_draws(Key(20), q);
  const torch::Tensor pi = weights / weights.sum(1, true);
  const auto density = [&](const torch::Tensor& counts) {
    return torch::lgamma(counts.sum()) - torch::lgamma(counts).sum() +
           ((counts - 1) * torch::log(pi)).sum(1);
  };
  EXPECT_TRUE(is_mean(weights_kl(q, kNone, c0), density(q) - density(c0.expand({4}))));
  EXPECT_NEAR(weights_kl(torch::full({4}, 0.7, kFloat64), kNone, c0).item<double>(), 0, 1e-12);
  EXPECT_TRUE(is_mean(expected_log_weights(q, kNone), torch::log(pi)));
  EXPECT_TRUE(is_mean(expected_weights(q, kNone), pi));
}

TEST(StickBreaking, ExpectationsAndDivergenceAreThoseOfDraws) {
  const torch::Tensor counts = torch::tensor({31.0, 12.5, 4.0, 1.0, 2.5}, kFloat64);
  const torch::Tensor alpha = number(2.5);
  const torch::Tensor images = counts - 1.0;
  std::vector<torch::Tensor> pi, ratios;
  torch::Tensor left = torch::ones({kDraws}, kFloat64);
  for (int64_t k = 0; k < 4; ++k) {
    const torch::Tensor a = counts[k], b = alpha + images.narrow(0, k + 1, 4 - k).sum();
    const Key key = Key(21).fold(static_cast<uint64_t>(k));
    const torch::Tensor x = gamma_draws(key.fold("a"), a.view({1})).squeeze(1),
                        y = gamma_draws(key.fold("b"), b.view({1})).squeeze(1), v = x / (x + y);
    const auto density = [&](const torch::Tensor& first, const torch::Tensor& second) {
      return torch::lgamma(first + second) - torch::lgamma(first) - torch::lgamma(second) +
             (first - 1) * torch::log(v) + (second - 1) * torch::log1p(-v);
    };
    ratios.push_back(density(a, b) - density(number(1.0), alpha));
    pi.push_back(left * v);
    left = left * (1 - v);
  }
  pi.push_back(left);
  const torch::Tensor all = torch::stack(pi, 1);
  EXPECT_TRUE(is_mean(expected_log_weights(counts, alpha), torch::log(all)));
  EXPECT_TRUE(is_mean(expected_weights(counts, alpha), all));
  EXPECT_NEAR(expected_weights(counts, alpha).sum().item<double>(), 1, 1e-12);
  EXPECT_TRUE(is_mean(weights_kl(counts, alpha, number(1.0)), torch::stack(ratios, 1).sum(1)));
  EXPECT_NEAR(weights_kl(torch::ones({5}, kFloat64), alpha, number(1.0)).item<double>(), 0, 1e-12);
}

TEST(Weights, TheBestPriorsHaveTheSmallestDivergence) {
  const torch::Tensor counts = torch::tensor({30.0, 12.0, 0.3, 0.2, 5.0, 0.4}, kFloat64);
  const torch::Tensor c0 = best_pseudo_count(counts, 1e-3, 100);
  const double best = weights_kl(counts, kNone, c0).item<double>();
  for (const double by : {0.8, 0.97, 1.03, 1.25})
    EXPECT_GT(weights_kl(counts, kNone, by * c0).item<double>(), best) << by;
  EXPECT_NEAR(best_pseudo_count(torch::full({6}, 500.0, kFloat64), 1e-3, 100).item<double>(), 100,
              1e-9)
      << "equal weights would make it infinite";

  const torch::Tensor sticks = torch::tensor({31.0, 12.5, 4.0, 1.0, 2.5}, kFloat64);
  // The posterior itself depends on alpha: at the fixed point the two agree.
  torch::Tensor alpha = number(1.0);
  for (int i = 0; i < 200; ++i) alpha = best_concentration(sticks, alpha, 1e-3, 100);
  const auto objective = [&](double by) {
    // The evidence of the sticks, whose maximum over alpha is the fixed point.
    const torch::Tensor images = sticks - 1.0, own = by * alpha;
    const torch::Tensor later = (images.sum() - images.cumsum(0)).narrow(0, 0, 4);
    const torch::Tensor first = sticks.narrow(0, 0, 4), second = own + later;
    return (torch::lgamma(first) + torch::lgamma(second) - torch::lgamma(first + second) +
            torch::log(own))
        .sum()
        .item<double>();
  };
  for (const double by : {0.9, 1.1}) EXPECT_LT(objective(by), objective(1.0)) << by;
}

}  // namespace
}  // namespace facet
