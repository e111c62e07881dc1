// The predictive density of a block, and draws of components and blocks.
#include "facet/prior/sampling.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "tests/close.h"

namespace facet {
namespace {

TEST(Predictive, IsTheLogOfAWeightedSumOfStudentTs) {
  const FactorPosterior posterior = random_posterior(Key(24), 5, 3);
  const NormalGamma q = posterior.mean();
  const torch::Tensor z = 2 * normal64(Key(25), {7, 3});
  const torch::Tensor pi = posterior.counts / posterior.counts.sum();
  for (int64_t n = 0; n < 7; ++n) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k) {
      double product = pi[k].item<double>();
      for (int64_t d = 0; d < 3; ++d) {
        const double s = q.s[k][d].item<double>(), a = q.a[k][d].item<double>();
        const double scale = (s + 1) / s * q.b[k][d].item<double>() / a, freedom = 2 * a;
        const double offset = z[n][d].item<double>() - q.m[k][d].item<double>();
        product *= std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) /
                   std::sqrt(freedom * std::numbers::pi * scale) *
                   std::pow(1 + offset * offset / (freedom * scale), -(freedom + 1) / 2);
      }
      sum += product;
    }
    EXPECT_NEAR(predictive_log_density(z, posterior)[n].item<double>(), std::log(sum), 1e-11);
  }
}

TEST(Predictive, BlocksAreDrawnFromTheirComponents) {
  FactorPosterior posterior = random_posterior(Key(26), 3, 2);
  const torch::Tensor components = torch::tensor({2, 0}, kInt64).repeat({20'000});
  const torch::Tensor z = sample_blocks(Key(27), posterior, components);
  const NormalGamma q = posterior.mean();
  for (const int64_t k : {2, 0}) {
    const torch::Tensor draws = z.index_select(0, components.eq(k).nonzero().squeeze(1));
    const torch::Tensor median = std::get<0>(draws.median(0));
    const torch::Tensor scale = torch::sqrt((q.s[k] + 1) / q.s[k] * q.b[k] / q.a[k]);
    // The standard error of a median is 1.25 scale / sqrt(n) for a Normal, similar for a Student-t.
    EXPECT_TRUE(close(median / scale, q.m[k] / scale, 0, 5 * 1.4 / std::sqrt(20'000.0)));
  }
}

TEST(ProbableComponents, AreThoseOfTheEStepOrOfLabels) {
  FactorialMixture prior({{"one", 2, 1}, {"two", 3, 2}}, Hyperprior{});
  for (size_t i = 0; i < 2; ++i)
    prior.posteriors[i] =
        random_posterior(Key(34).fold(i), prior.factors[i].components, i == 0 ? 1 : 2);
  const torch::Tensor z = 2 * normal64(Key(35), {50, 3});
  const torch::Tensor labels = torch::full({50, 2}, -1, kInt64);
  labels[3][1] = 2;
  labels[4][1] = 0;
  const torch::Tensor components = with_probable_components(prior, z, labels).components;
  const auto blocks = prior.split(z);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t n = 0; n < 50; ++n) {
      const int64_t label = labels[n][i].item<int64_t>();
      const torch::Tensor gamma = e_step({blocks[i].narrow(0, n, 1)}, prior.posteriors[i], {});
      EXPECT_EQ(components[n][i].item<int64_t>(),
                label >= 0 ? label : gamma.argmax().item<int64_t>());
    }
  const torch::Tensor unlabelled = with_probable_components(prior, z).components;
  EXPECT_FALSE(unlabelled.equal(components)) << "labels that say what z says tell nothing";
  EXPECT_TRUE(join({{z, components}, {z, components}}).components.equal(components.repeat({2, 1})));
}

TEST(GaussianRows, AreTheCentresAndScalesOfEveryFactorsComponent) {
  FactorialMixture prior({{"one", 2, 1}, {"two", 3, 2}}, Hyperprior{});
  for (size_t i = 0; i < 2; ++i)
    prior.posteriors[i] =
        random_posterior(Key(36).fold(i), prior.factors[i].components, i == 0 ? 1 : 2);
  const torch::Tensor components = torch::tensor({1, 0, 0, 2, 1, 1}, kInt64).view({3, 2});
  const GaussianRows rows = gaussian_rows(prior, components);
  const auto centres = prior.split(rows.centre), scales = prior.split(rows.scale);
  for (size_t i = 0; i < 2; ++i) {
    const NormalGamma q = prior.posteriors[i].mean();
    for (int64_t n = 0; n < 3; ++n) {
      const int64_t k = components[n][static_cast<int64_t>(i)].item<int64_t>();
      EXPECT_TRUE(centres[i][n].equal(q.m[k]));
      EXPECT_TRUE(
          close(scales[i][n], torch::sqrt((q.s[k] + 1) / q.s[k] * q.b[k] / q.a[k]), 1e-12, 0));
    }
  }
}

TEST(SampleComponents, FrequenciesAreTheExpectedWeights) {
  FactorPosterior posterior = random_posterior(Key(28), 4, 1);
  posterior.counts = torch::tensor({1.0, 30.0, 0.5, 8.5}, kFloat64);
  constexpr int64_t count = 50'000;
  const torch::Tensor drawn = sample_components(Key(29), posterior, count);
  ASSERT_EQ(drawn.sizes(), (std::vector<int64_t>{count}));
  for (int64_t k = 0; k < 4; ++k) {
    const double weight = posterior.counts[k].item<double>() / 40;
    const double share = drawn.eq(k).to(kFloat64).mean().item<double>();
    EXPECT_NEAR(share, weight, 5 * std::sqrt(weight * (1 - weight) / count));
  }
}

TEST(SampleComponents, OfAGroupAreDrawnByTheirWeights) {
  FactorPosterior posterior = random_posterior(Key(30), 4, 1);
  posterior.counts = torch::tensor({1.0, 30.0, 4.0, 8.0}, kFloat64);
  constexpr int64_t count = 20'000;
  const torch::Tensor drawn = sample_components(Key(31), posterior, count, {3, 2});
  EXPECT_TRUE((drawn.eq(2) | drawn.eq(3)).all().item<bool>());
  const double share = drawn.eq(3).to(kFloat64).mean().item<double>();
  EXPECT_NEAR(share, 2.0 / 3, 5 * std::sqrt(2.0 / 9 / count));
}

TEST(SampleLatents, FixesAFactorAtAGroup) {
  FactorialMixture prior({{"one", 4, 2}, {"two", 3, 2}}, Hyperprior{});
  for (size_t i = 0; i < 2; ++i)
    prior.posteriors[i] = random_posterior(Key(32).fold(i), prior.factors[i].components, 2);
  const LatentSample sample = sample_latents(Key(33), prior, 500, {1, 2}, {{{0}, {3, 1}, {2}}, {}});
  const torch::Tensor one = sample.components.select(1, 0);
  EXPECT_TRUE((one.eq(1) | one.eq(3)).all().item<bool>());
  EXPECT_TRUE(one.eq(1).any().item<bool>() && one.eq(3).any().item<bool>());
  EXPECT_TRUE(sample.components.select(1, 1).eq(2).all().item<bool>());
}

}  // namespace
}  // namespace facet
