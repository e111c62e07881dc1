// The mixture of one factor: the E-step maximises the bound, the natural-gradient step is
// conjugate, and the KL terms agree with sampling.
#include <chrono>
#include <cmath>
#include <numbers>
#include <sys/resource.h>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "facet/core/torch.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/prior/weights.h"
#include "tests/close.h"

namespace facet {
namespace {

/// -KL[z] - KL[r] of one factor at any responsibilities, [B].
torch::Tensor factor_bound(const BlockEncoding& block, const FactorPosterior& posterior,
                           const torch::Tensor& responsibilities) {
  return -kl_z(block, expected_log_normal(block, posterior.mean()), responsibilities) -
         kl_r(responsibilities, posterior.expected_log_weights());
}

TEST(ExpectedLogNormal, IsTheFormulaOfThePaper) {
  const FactorPosterior posterior = random_posterior(Key(1), 5, 4);
  const BlockEncoding block = random_block(Key(2), 6, 4);
  const NormalGamma q = posterior.mean();
  const torch::Tensor offset = block.mean.unsqueeze(1) - q.m;  // [B, K, D]
  const torch::Tensor expected =
      0.5 * (torch::digamma(q.a) - torch::log(q.b) - std::log(2 * std::numbers::pi) - 1 / q.s -
             q.a / q.b * (offset.square() + block.variance.unsqueeze(1)))
                .sum(2);
  // The library expands the square, which loses a digit or two to cancellation.
  EXPECT_TRUE(close(expected_log_normal(block, q), expected, 1e-12, 1e-12));
}

TEST(Responsibilities, AreTheMaximiserOfTheBound) {
  const FactorPosterior posterior = random_posterior(Key(3), 6, 3);
  const BlockEncoding block = random_block(Key(4), 20, 3);
  const torch::Tensor gamma = e_step(block, posterior, {});
  EXPECT_TRUE(close(gamma.sum(1), torch::ones({20}), 1e-14));
  const torch::Tensor best = factor_bound(block, posterior, gamma);
  for (uint64_t trial = 0; trial < 100; ++trial) {
    const double size = trial % 2 == 0 ? 0.01 : 1.0;
    const torch::Tensor other =
        torch::softmax(torch::log(gamma) + size * normal64(Key(5).fold(trial), {20, 6}), 1);
    // The difference is KL(other || gamma), of second order in the perturbation: far above
    // rounding.
    EXPECT_GT((best - factor_bound(block, posterior, other)).min().item<double>(), 0);
  }
}

TEST(Responsibilities, MakeTheBoundALogSumExp) {
  const FactorPosterior posterior = random_posterior(Key(3), 6, 3);
  const BlockEncoding block = random_block(Key(4), 20, 3);
  const torch::Tensor entropy =
      0.5 * torch::log(2 * std::numbers::pi * std::numbers::e * block.variance).sum(1);
  const torch::Tensor expected =
      entropy +
      torch::logsumexp(
          expected_log_normal(block, posterior.mean()) + posterior.expected_log_weights(), 1);
  const FactorTerms terms = factor_terms(block, posterior.parameters(), {});
  EXPECT_TRUE(close(-terms.kl_z - terms.kl_r, expected, 1e-12, 1e-12));
}

TEST(Responsibilities, DetachedGiveTheTotalGradient) {
  const FactorPosterior posterior = random_posterior(Key(6), 5, 3);
  BlockEncoding block = random_block(Key(7), 12, 3);
  block.mean.requires_grad_();
  block.variance.requires_grad_();
  const FactorTerms terms = factor_terms(block, posterior.parameters(), {});
  EXPECT_FALSE(terms.responsibilities.requires_grad());
  const auto detached =
      torch::autograd::grad({-(terms.kl_z + terms.kl_r).sum()}, {block.mean, block.variance});

  const torch::Tensor free = assignment_probabilities(expected_log_normal(block, posterior.mean()),
                                                      posterior.expected_log_weights());
  ASSERT_TRUE(free.requires_grad());
  const auto total = torch::autograd::grad({factor_bound(block, posterior, free).sum()},
                                           {block.mean, block.variance});
  EXPECT_TRUE(close(detached[0], total[0], 1e-10, 1e-12));
  EXPECT_TRUE(close(detached[1], total[1], 1e-10, 1e-12));
  EXPECT_GT(total[0].abs().mean().item<double>(), 0.1);
}

TEST(Responsibilities, OfLabelledImagesAreOneHotAndOthersAreUnchanged) {
  const FactorPosterior posterior = random_posterior(Key(8), 4, 2);
  const BlockEncoding block = random_block(Key(9), 5, 2);
  const torch::Tensor labels = int64_tensor({2, -1, 0, -1, 3});
  const FactorTerms terms = factor_terms(block, posterior.parameters(), labels);
  const torch::Tensor free = e_step(block, posterior, {});
  const torch::Tensor eye = torch::eye(4, kFloat64);
  EXPECT_TRUE(torch::equal(terms.responsibilities,
                           torch::stack({eye[2], free[1], eye[0], free[3], eye[3]})));
  EXPECT_TRUE(torch::equal(e_step(block, posterior, labels), terms.responsibilities));

  // g does not depend on the label; a one-hot gamma costs -E[log pi].
  const torch::Tensor log_g = torch::log(free), log_pi = posterior.expected_log_weights();
  const torch::Tensor zero = torch::zeros({}, kFloat64);
  EXPECT_TRUE(close(terms.label_log_likelihood,
                    torch::stack({log_g[0][2], zero, log_g[2][0], zero, log_g[4][3]}), 1e-12));
  EXPECT_NEAR(terms.kl_r[0].item<double>(), -log_pi[2].item<double>(), 1e-12);
}

TEST(Responsibilities, WithoutLabelsEqualThoseWithUnknownLabels) {
  const FactorPosterior posterior = random_posterior(Key(10), 4, 2);
  const BlockEncoding block = random_block(Key(11), 5, 2);
  const FactorTerms none = factor_terms(block, posterior.parameters(), {});
  const FactorTerms unknown =
      factor_terms(block, posterior.parameters(), int64_tensor({-1, -1, -1, -1, -1}));
  EXPECT_TRUE(torch::equal(none.responsibilities, unknown.responsibilities));
  EXPECT_TRUE(torch::equal(none.kl_z, unknown.kl_z));
  EXPECT_TRUE(torch::equal(none.kl_r, unknown.kl_r));
  EXPECT_TRUE(torch::equal(none.label_log_likelihood, unknown.label_log_likelihood));
}

TEST(KlZ, IsTheMeanLogRatioOfDraws) {
  constexpr int64_t draws = 200'000;
  const FactorPosterior posterior = random_posterior(Key(12), 3, 2);
  const BlockEncoding block = random_block(Key(13), 1, 2);
  const FactorTerms terms = factor_terms(block, posterior.parameters(), {});
  const NormalGamma q = posterior.mean();

  const torch::Tensor z =
      block.mean + torch::sqrt(block.variance) * normal64(Key(14), {draws, 2});  // [draws, D]
  const auto log_normal = [](const torch::Tensor& x, const torch::Tensor& mean,
                             const torch::Tensor& precision) {
    return 0.5 * (torch::log(precision / (2 * std::numbers::pi)) - precision * (x - mean).square())
                     .sum(-1);
  };
  torch::Tensor ratio = log_normal(z, block.mean, 1 / block.variance);
  for (int64_t k = 0; k < 3; ++k) {
    const Key key = Key(15).fold(static_cast<uint64_t>(k));
    const torch::Tensor alpha =
        at::_standard_gamma(q.a[k].expand({draws, 2}).clone(), key.fold("alpha").generator()) /
        q.b[k];
    const torch::Tensor mu =
        q.m[k] + normal64(key.fold("mu"), {draws, 2}) / torch::sqrt(q.s[k] * alpha);
    ratio = ratio - terms.responsibilities[0][k] * log_normal(z, mu, alpha);
  }
  const double error = ratio.std().item<double>() / std::sqrt(static_cast<double>(draws));
  EXPECT_NEAR(terms.kl_z.item<double>(), ratio.mean().item<double>(), 5 * error);
}

TEST(NaturalStep, OfSizeOneOnAllImagesIsTheConjugatePosterior) {
  constexpr int64_t images = 30, components = 3, dimensions = 2;
  const BlockEncoding block = random_block(Key(16), images, dimensions);
  FactorPosterior posterior = random_posterior(Key(17), components, dimensions);
  const torch::Tensor gamma = e_step(block, posterior, {});
  natural_step(posterior, conjugate_posterior(statistics(block, gamma), 1.0, kHyperprior),
               number(1.0));
  const NormalGamma actual = posterior.mean();

  // The textbook update for weighted observations: count, weighted mean, squares around it.
  const auto& [m0, s0, a0, b0, c0, concentration] = kHyperprior;
  const auto g = gamma.accessor<double, 2>();
  const auto mean = block.mean.accessor<double, 2>(),
             variance = block.variance.accessor<double, 2>();
  for (int64_t k = 0; k < components; ++k) {
    double count = 0;
    for (int64_t n = 0; n < images; ++n) count += g[n][k];
    EXPECT_NEAR(posterior.counts[k].item<double>(), c0 + count, 1e-11);
    for (int64_t d = 0; d < dimensions; ++d) {
      double average = 0, spread = 0;
      for (int64_t n = 0; n < images; ++n) average += g[n][k] * mean[n][d] / count;
      for (int64_t n = 0; n < images; ++n)
        spread += g[n][k] * (std::pow(mean[n][d] - average, 2) + variance[n][d]);
      EXPECT_NEAR(actual.s[k][d].item<double>(), s0 + count, 1e-11);
      EXPECT_NEAR(actual.m[k][d].item<double>(), (s0 * m0 + count * average) / (s0 + count), 1e-11);
      EXPECT_NEAR(actual.a[k][d].item<double>(), a0 + 0.5 * count, 1e-11);
      EXPECT_NEAR(actual.b[k][d].item<double>(),
                  b0 + 0.5 * spread + 0.5 * s0 * count / (s0 + count) * std::pow(average - m0, 2),
                  1e-11);
    }
  }
}

TEST(NaturalStep, IsTheConvexCombinationOfNaturalParameters) {
  FactorPosterior posterior = random_posterior(Key(18), 4, 3);
  const FactorPosterior before = random_posterior(Key(18), 4, 3);
  const FactorPosterior optimum = random_posterior(Key(19), 4, 3);
  natural_step(posterior, optimum, number(0.3));
  const auto mixed = [](const torch::Tensor& from, const torch::Tensor& to) {
    return 0.7 * from + 0.3 * to;
  };
  const NaturalNormalGamma &b = before.components, &o = optimum.components;
  EXPECT_TRUE(close(posterior.components.log_alpha, mixed(b.log_alpha, o.log_alpha), 1e-13));
  EXPECT_TRUE(close(posterior.components.alpha, mixed(b.alpha, o.alpha), 1e-13));
  EXPECT_TRUE(close(posterior.components.alpha_mu, mixed(b.alpha_mu, o.alpha_mu), 1e-13, 1e-13));
  EXPECT_TRUE(close(posterior.components.alpha_mu2, mixed(b.alpha_mu2, o.alpha_mu2), 1e-13));
  EXPECT_TRUE(close(posterior.counts, mixed(before.counts, optimum.counts), 1e-13));
}

TEST(NaturalStep, ConvergesToTheOptimumOfTheWholeBound) {
  // With fixed responsibilities the bound is concave in lambda and lambda* its only maximum.
  const BlockEncoding block = random_block(Key(20), 40, 2);
  FactorPosterior posterior = random_posterior(Key(21), 3, 2);
  const torch::Tensor gamma = e_step(block, posterior, {});
  const FactorPosterior optimum = conjugate_posterior(statistics(block, gamma), 1.0, kHyperprior);
  const auto bound = [&](const FactorPosterior& at) {
    const HyperpriorKl kl = hyperprior_kl(at.parameters(), kHyperprior);
    return (factor_bound(block, at, gamma).sum() - kl.components.sum() - kl.weights).item<double>();
  };
  double previous = bound(posterior);
  for (int step = 0; step < 20; ++step) {
    natural_step(posterior, optimum, number(0.3));
    const double now = bound(posterior);
    EXPECT_GT(now, previous);
    previous = now;
  }
  EXPECT_GT(bound(optimum), previous);
  for (uint64_t trial = 0; trial < 20; ++trial) {
    FactorPosterior elsewhere = optimum.to(torch::kCPU);
    const NormalGamma mean = elsewhere.mean();
    const auto perturbed = [&](const torch::Tensor& tensor, const char* name) {
      return tensor * torch::exp(0.05 * normal64(Key(22).fold(trial).fold(name), tensor.sizes()));
    };
    elsewhere = FactorPosterior::from_mean(
        {mean.m + 0.05, perturbed(mean.s, "s"), perturbed(mean.a, "a"), perturbed(mean.b, "b")},
        perturbed(elsewhere.counts, "c"));
    EXPECT_LT(bound(elsewhere), bound(optimum));
  }
}

TEST(NaturalStep, KeepsBPositiveForAHundredMillionImages) {
  // b = -lambda_2 - s m^2 / 2 with s m^2 / 2 = 4.5e10: the rounding error is 1e-5, and b is 307.
  const double variance = std::exp(-12.0), images = 1e8;
  const BlockEncoding block{torch::full({64, 3}, 30.0, kFloat64),
                            torch::full({64, 3}, variance, kFloat64)};
  FactorPosterior posterior = random_posterior(Key(23), 2, 3);
  for (int step = 0; step < 200; ++step) {
    const torch::Tensor gamma = torch::full({64, 2}, 0.5, kFloat64);
    natural_step(posterior,
                 conjugate_posterior(statistics(block, gamma), images / 64, Hyperprior{}),
                 number(0.1));
  }
  const torch::Tensor b = posterior.mean().b;
  ASSERT_GT(b.min().item<double>(), 0);
  // The hyperprior's mean of 0 adds s0 m^2 / 2 = 450 to the data's 0.5 N/2 sigma^2 = 153.6.
  EXPECT_TRUE(close(b, torch::full({2, 3}, 450 + 0.25 * images * variance + 0.01), 1e-3));
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

TEST(FactorTerms, OfThousandsOfComponentsNeedLittleMemoryAndTime) {
  // A float64 tensor [B, K, D] would take 512 MB in the E-step; [B, K] takes 8 MB.
  const FactorPosterior posterior = random_posterior(Key(30), 4096, 64);
  const BlockEncoding block = random_block(Key(31), 256, 64);
  const double before = peak_megabytes();
  const auto start = std::chrono::steady_clock::now();
  const FactorTerms terms = factor_terms(block, posterior.parameters(), {});
  const FactorStatistics sums = statistics(block, terms.responsibilities);
  const torch::Tensor density = predictive_log_density(block.mean.narrow(0, 0, 64), posterior);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const torch::Tensor& tensor :
       {terms.responsibilities, terms.kl_z, terms.kl_r, sums.second, density})
    EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>());
  EXPECT_NEAR(sums.counts.sum().item<double>(), 256, 1e-9);
  EXPECT_LT(peak_megabytes() - before, 400);
  EXPECT_LT(seconds.count(), 30);  // a fraction of a second; a sanitizer build is slower
}

}  // namespace
}  // namespace facet
