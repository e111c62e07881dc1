// One factor's mixture and all of them together: the E-step is a maximiser, the natural-gradient
// step is conjugate, the KL terms are what sampling says, and the start keeps components alive.
#include <chrono>
#include <cmath>
#include <numbers>
#include <sys/resource.h>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "facet/core/torch.h"
#include "facet/prior/dirichlet.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/prior/initialise.h"
#include "facet/prior/kmeans.h"
#include "facet/prior/sampling.h"
#include "facet/prior/student_t.h"
#include "tests/close.h"
#include "tests/message_of.h"

namespace facet {
namespace {

const Hyperprior hyperprior{.m0 = 0.2, .s0 = 1.3, .a0 = 0.7, .b0 = 0.4, .c0 = 1.1};

torch::Tensor int64_tensor(const std::vector<int64_t>& values) {
  return torch::tensor(values, kInt64);
}

/// -KL[z] - KL[r] of one factor at any responsibilities, [B].
torch::Tensor factor_bound(const BlockEncoding& block, const FactorPosterior& posterior,
                           const torch::Tensor& responsibilities) {
  return -kl_z(block, expected_log_normal(block, posterior.mean()), responsibilities) -
         kl_r(responsibilities, expected_log_weights(posterior.counts));
}

TEST(ExpectedLogNormal, IsTheFormulaOfThePaperWrittenOut) {
  const FactorPosterior posterior = random_posterior(Key(1), 5, 4);
  const BlockEncoding block = random_block(Key(2), 6, 4);
  const NormalGamma q = posterior.mean();
  const torch::Tensor offset = block.mean.unsqueeze(1) - q.m;  // [B, K, D]
  const torch::Tensor expected =
      0.5 * (torch::digamma(q.a) - torch::log(q.b) - std::log(2 * std::numbers::pi) - 1 / q.s -
             q.a / q.b * (offset.square() + block.variance.unsqueeze(1)))
                .sum(2);
  // The library expands the square, which cancels a digit or two of float64's sixteen.
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
    // The loss is KL(other || gamma), second order in the perturbation: far above rounding.
    EXPECT_GT((best - factor_bound(block, posterior, other)).min().item<double>(), 0);
  }
}

TEST(Responsibilities, MakeTheBoundALogarithmOfASum) {
  const FactorPosterior posterior = random_posterior(Key(3), 6, 3);
  const BlockEncoding block = random_block(Key(4), 20, 3);
  const torch::Tensor entropy =
      0.5 * torch::log(2 * std::numbers::pi * std::numbers::e * block.variance).sum(1);
  const torch::Tensor expected =
      entropy +
      torch::logsumexp(
          expected_log_normal(block, posterior.mean()) + expected_log_weights(posterior.counts), 1);
  const FactorTerms terms = factor_terms(block, posterior.parameters(), {});
  EXPECT_TRUE(close(-terms.kl_z - terms.kl_r, expected, 1e-12, 1e-12));
}

TEST(Responsibilities, HeldConstantGiveTheTotalGradient) {
  const FactorPosterior posterior = random_posterior(Key(6), 5, 3);
  BlockEncoding block = random_block(Key(7), 12, 3);
  block.mean.requires_grad_();
  block.variance.requires_grad_();
  const FactorTerms terms = factor_terms(block, posterior.parameters(), {});
  EXPECT_FALSE(terms.responsibilities.requires_grad());
  const auto held =
      torch::autograd::grad({-(terms.kl_z + terms.kl_r).sum()}, {block.mean, block.variance});

  const torch::Tensor free = assignment_probabilities(expected_log_normal(block, posterior.mean()),
                                                      expected_log_weights(posterior.counts));
  ASSERT_TRUE(free.requires_grad());
  const auto total = torch::autograd::grad({factor_bound(block, posterior, free).sum()},
                                           {block.mean, block.variance});
  EXPECT_TRUE(close(held[0], total[0], 1e-10, 1e-12));
  EXPECT_TRUE(close(held[1], total[1], 1e-10, 1e-12));
  EXPECT_GT(total[0].abs().mean().item<double>(), 0.1);
}

TEST(Responsibilities, OfLabelledImagesAreOneHotAndOthersAreUntouched) {
  const FactorPosterior posterior = random_posterior(Key(8), 4, 2);
  const BlockEncoding block = random_block(Key(9), 5, 2);
  const torch::Tensor labels = int64_tensor({2, -1, 0, -1, 3});
  const FactorTerms terms = factor_terms(block, posterior.parameters(), labels);
  const torch::Tensor free = e_step(block, posterior, {});
  const torch::Tensor eye = torch::eye(4, kFloat64);
  EXPECT_TRUE(torch::equal(terms.responsibilities,
                           torch::stack({eye[2], free[1], eye[0], free[3], eye[3]})));
  EXPECT_TRUE(torch::equal(e_step(block, posterior, labels), terms.responsibilities));

  // g at the label ignores that the label is known; a one-hot gamma costs -E[log pi].
  const torch::Tensor log_g = torch::log(free), log_pi = expected_log_weights(posterior.counts);
  const torch::Tensor zero = torch::zeros({}, kFloat64);
  EXPECT_TRUE(close(terms.label_log_likelihood,
                    torch::stack({log_g[0][2], zero, log_g[2][0], zero, log_g[4][3]}), 1e-12));
  EXPECT_NEAR(terms.kl_r[0].item<double>(), -log_pi[2].item<double>(), 1e-12);
}

TEST(Responsibilities, WithoutLabelsAreThoseWithAllLabelsUnknown) {
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

TEST(KlBlock, IsTheMeanLogRatioOfDraws) {
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
  natural_step(posterior, conjugate_posterior(statistics(block, gamma), 1.0, hyperprior),
               number(1.0));
  const NormalGamma actual = posterior.mean();

  // The textbook's update for weighted observations: count, weighted mean, spread around it.
  const auto& [m0, s0, a0, b0, c0] = hyperprior;
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
  const FactorPosterior optimum = conjugate_posterior(statistics(block, gamma), 1.0, hyperprior);
  const auto bound = [&](const FactorPosterior& at) {
    const HyperpriorKl kl = hyperprior_kl(at.parameters(), hyperprior);
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
    const auto shaken = [&](const torch::Tensor& tensor, const char* name) {
      return tensor * torch::exp(0.05 * normal64(Key(22).fold(trial).fold(name), tensor.sizes()));
    };
    elsewhere = FactorPosterior::from_mean(
        {mean.m + 0.05, shaken(mean.s, "s"), shaken(mean.a, "a"), shaken(mean.b, "b")},
        shaken(elsewhere.counts, "c"));
    EXPECT_LT(bound(elsewhere), bound(optimum));
  }
}

TEST(NaturalStep, KeepsTheRatePositiveForAHundredMillionImages) {
  // b = -lambda_2 - s m^2 / 2 with s m^2 / 2 = 4.5e10: float64 leaves 1e-5 of it, b is 307.
  const double variance = std::exp(-12.0), images = 1e8;
  const BlockEncoding block{torch::full({64, 3}, 30.0, kFloat64),
                            torch::full({64, 3}, variance, kFloat64)};
  FactorPosterior posterior = random_posterior(Key(23), 2, 3);
  for (int step = 0; step < 200; ++step) {
    const torch::Tensor gamma = torch::full({64, 2}, 0.5, kFloat64);
    natural_step(posterior, conjugate_posterior(statistics(block, gamma), images / 64, {}),
                 number(0.1));
  }
  const torch::Tensor b = posterior.mean().b;
  ASSERT_GT(b.min().item<double>(), 0);
  // The hyperprior's mean of 0 adds s0 m^2 / 2 = 450 to the data's 0.5 N/2 sigma^2 = 153.6.
  EXPECT_TRUE(close(b, torch::full({2, 3}, 450 + 0.25 * images * variance + 0.01), 1e-3));
}

TEST(Predictive, IsTheLogarithmOfTheWeightedSumOfParts) {
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
  const torch::Tensor components = int64_tensor({2, 0}).repeat({20'000});
  const torch::Tensor z = sample_blocks(Key(27), posterior, components);
  const NormalGamma q = posterior.mean();
  for (const int64_t k : {2, 0}) {
    const torch::Tensor mine = z.index_select(0, components.eq(k).nonzero().squeeze(1));
    const torch::Tensor median = std::get<0>(mine.median(0));
    const torch::Tensor scale = torch::sqrt((q.s[k] + 1) / q.s[k] * q.b[k] / q.a[k]);
    // A median's standard error is 1.25 scale / sqrt(n) for a Normal and near it for a Student-t.
    EXPECT_TRUE(close(median / scale, q.m[k] / scale, 0, 5 * 1.4 / std::sqrt(20'000.0)));
  }
}

TEST(SampleComponents, FrequenciesFollowTheExpectedWeights) {
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

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

TEST(FactorTerms, OfThousandsOfComponentsTakeLittleMemoryAndTime) {
  // [B, K, D] in float64 would be 512 MB for the E-step; [B, K] is 8 MB.
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

/// Points around centres that are 100 apart, with a spread of 0.5; point n belongs to n % blobs.
torch::Tensor blob_points(const Key& key, int64_t blobs, int64_t points, int64_t dimensions) {
  const torch::Tensor centres = 100.0 * torch::eye(blobs, dimensions, kFloat64);
  return centres.index_select(0, torch::arange(points).remainder(blobs)) +
         0.5 * normal64(key, {points, dimensions});
}

TEST(KMeans, RecoversSeparatedBlobs) {
  constexpr int64_t blobs = 8, count = 800;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const torch::Tensor points = blob_points(Key(32).fold(seed), blobs, count, 10);
    const KMeans found = k_means(Key(33).fold(seed), points, blobs, 20);
    // One blob, one cluster: all members share the cluster of the blob's first point.
    for (int64_t n = 0; n < count; ++n)
      ASSERT_EQ(found.assignments[n].item<int64_t>(), found.assignments[n % blobs].item<int64_t>());
    EXPECT_TRUE(torch::equal(found.counts, torch::full({blobs}, count / blobs, kInt64)));
    for (int64_t k = 0; k < blobs; ++k) {
      const torch::Tensor members = found.assignments.eq(k).nonzero().squeeze(1);
      EXPECT_TRUE(close(found.centres[k], points.index_select(0, members).mean(0), 1e-10, 1e-10));
    }
  }
}

TEST(KMeans, WithMoreClustersThanPointsPutsEveryCentreOnAPoint) {
  const torch::Tensor points = 3.0 + normal64(Key(34), {3, 2});
  const KMeans found = k_means(Key(35), points, 10, 5);
  EXPECT_EQ(found.counts.sum().item<int64_t>(), 3);
  EXPECT_EQ(found.counts.max().item<int64_t>(), 1);
  const torch::Tensor distance = torch::cdist(found.centres, points);  // [10, 3]
  EXPECT_LT(std::get<0>(distance.min(1)).max().item<double>(), 1e-6);
}

TEST(KMeans, OfEqualPointsIsFinite) {
  const KMeans found = k_means(Key(36), torch::ones({20, 3}, kFloat64), 4, 5);
  EXPECT_TRUE(torch::equal(found.centres, torch::ones_like(found.centres))) << found.centres;
  EXPECT_EQ(found.counts.sum().item<int64_t>(), 20);
}

TEST(KMeans, IsAFunctionOfItsKey) {
  const torch::Tensor points = normal64(Key(37), {300, 4});
  const KMeans once = k_means(Key(38), points, 12, 3), again = k_means(Key(38), points, 12, 3);
  EXPECT_TRUE(torch::equal(once.centres, again.centres));
  EXPECT_TRUE(torch::equal(once.assignments, again.assignments));
  EXPECT_FALSE(torch::equal(once.centres, k_means(Key(39), points, 12, 3).centres));
}

/// Encodings as a pre-trained network gives them: ten active dimensions with clusters in them, and
/// thirty inactive ones where it says N(0, 1).
BlockEncoding partly_inactive(const Key& key, int64_t clusters, int64_t images) {
  const torch::Tensor centres = 2.0 * normal64(key.fold("centres"), {clusters, 10});
  const torch::Tensor active = centres.index_select(0, torch::arange(images).remainder(clusters)) +
                               0.5 * normal64(key.fold("active"), {images, 10});
  const torch::Tensor inactive = 0.03 * normal64(key.fold("inactive"), {images, 30});
  return {torch::cat({active, inactive}, 1), torch::cat({torch::full({images, 10}, 0.05, kFloat64),
                                                         torch::full({images, 30}, 1.0, kFloat64)},
                                                        1)};
}

TEST(InitialPosterior, SpreadIsWithinClustersPlusTheEncodersOwn) {
  const BlockEncoding block = partly_inactive(Key(40), 6, 300);
  const FactorPosterior posterior = initial_posterior(Key(41), block, 6, 6000, 10, hyperprior);
  const KMeans clusters = k_means(Key(41), block.mean, 6, 10);
  const torch::Tensor within =
      (block.mean - clusters.centres.index_select(0, clusters.assignments)).square().mean(0);
  const NormalGamma q = posterior.mean();
  EXPECT_TRUE(close(q.b / q.a, (within + block.variance.mean(0)).expand({6, 40}), 1e-10));
  EXPECT_TRUE(close(q.m, clusters.centres, 1e-12, 1e-12));
  // It stands for 6000 images although it saw 300.
  EXPECT_NEAR(posterior.counts.sum().item<double>(), 6000 + 6 * hyperprior.c0, 1e-8);
  EXPECT_TRUE(
      close(q.s, (hyperprior.s0 + 20 * clusters.counts.to(kFloat64)).unsqueeze(1).expand({6, 40}),
            1e-12));
}

/// How many components take more than one of the images after 500 natural-gradient steps.
int64_t living_after_training(const BlockEncoding& block, FactorPosterior posterior) {
  const int64_t images = block.mean.size(0);
  for (uint64_t step = 0; step < 500; ++step) {
    const torch::Tensor chosen = permutation(Key(42).fold(step), images).narrow(0, 0, 64);
    const BlockEncoding batch{block.mean.index_select(0, chosen),
                              block.variance.index_select(0, chosen)};
    natural_step(posterior,
                 conjugate_posterior(statistics(batch, e_step(batch, posterior, {})),
                                     static_cast<double>(images) / 64, {}),
                 number(0.01 * std::pow(1 + static_cast<double>(step) / 2000, -0.7)));
  }
  return e_step(block, posterior, {}).sum(0).gt(1).sum().item<int64_t>();
}

TEST(InitialPosterior, KeepsComponentsAliveWhereDimensionsAreInactive) {
  const BlockEncoding block = partly_inactive(Key(43), 32, 3200);
  const FactorPosterior right = initial_posterior(Key(44), block, 32, 3200, 20, {});
  EXPECT_GE(living_after_training(block, right), 24);  // 28 to 31 over eight keys

  // The trap: the same start without the encoder's variance. In an inactive dimension a component's
  // variance is then 0.001 instead of 1, and whoever adapts first takes everything.
  const BlockEncoding blind{block.mean, torch::full_like(block.variance, 1e-6)};
  const FactorPosterior wrong = initial_posterior(Key(44), blind, 32, 3200, 20, {});
  EXPECT_LE(living_after_training(block, wrong), 4);  // 1 with every key
}

TEST(FactorialMixture, RefusesFactorsThatCannotBe) {
  const auto build = [](std::vector<FactorOptions> factors) {
    return message_of([&] { FactorialMixture(factors, Hyperprior{}); });
  };
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(build({}), "at least one");
  contains(build({{"hair", 4, 2}, {"hair", 3, 2}}), "'hair': found two factors of this name");
  contains(build({{"hair", 0, 2}}), "0 components");
  contains(build({{"hair", 4, -1}}), "-1 dimensions");
  contains(build({{"", 4, 2}}), "without a name");
}

TEST(FactorialMixture, StartsAtTheHyperprior) {
  const FactorialMixture mixture({{"hair", 4, 3}, {"smile", 2, 5}}, hyperprior);
  ASSERT_EQ(mixture.size(), 2u);
  EXPECT_EQ(mixture.dimensions(), 8);
  for (const FactorPosterior& posterior : mixture.posteriors) {
    const HyperpriorKl kl = hyperprior_kl(posterior.parameters(), hyperprior);
    EXPECT_TRUE(close(kl.components, torch::zeros_like(kl.components), 0, 1e-12));
    EXPECT_NEAR(kl.weights.item<double>(), 0, 1e-12);
  }
  EXPECT_EQ(mixture.posteriors[1].mean().m.sizes(), (std::vector<int64_t>{2, 5}));
}

TEST(FactorialMixture, UnknownNamesGetSuggestions) {
  const FactorialMixture mixture({{"glasses", 2, 2}, {"smiling", 2, 2}}, {});
  EXPECT_EQ(mixture.index_of("smiling"), 1u);
  const std::string text = message_of([&] { mixture.index_of("smilling"); });
  EXPECT_NE(text.find("'smilling'"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'smiling'"), std::string::npos) << text;
}

TEST(FactorialMixture, SplitCutsBlocksInOrderAsFloat64) {
  const FactorialMixture mixture({{"a", 2, 1}, {"b", 2, 3}, {"c", 2, 2}}, {});
  const torch::Tensor z = torch::arange(12, kFloat32).view({2, 6});
  const auto blocks = mixture.split(z);
  ASSERT_EQ(blocks.size(), 3u);
  const auto columns = [&](int64_t first, int64_t count) {
    return z.narrow(1, first, count).to(kFloat64);
  };
  EXPECT_TRUE(torch::equal(blocks[0], columns(0, 1)));
  EXPECT_TRUE(torch::equal(blocks[1], columns(1, 3)));
  EXPECT_TRUE(torch::equal(blocks[2], columns(4, 2)));
  const auto encodings = mixture.split(z, z + 100);
  EXPECT_TRUE(torch::equal(encodings[1].mean, columns(1, 3)));
  EXPECT_TRUE(torch::equal(encodings[1].variance, columns(1, 3) + 100));
}

/// Two factors with posteriors that differ, encodings [6, 5] of the width that networks give, and
/// labels of the second factor for half of the images.
struct TwoFactors {
  FactorialMixture mixture{{{"a", 4, 2}, {"b", 3, 3}}, hyperprior};
  torch::Tensor mean = normal64(Key(90), {6, 5}).to(kFloat32),
                log_variance = normal64(Key(91), {6, 5}).to(kFloat32);
  torch::Tensor labels = torch::stack(
      {int64_tensor({-1, -1, -1, -1, -1, -1}), int64_tensor({2, -1, 0, -1, 1, -1})}, 1);

  TwoFactors() {
    for (size_t i = 0; i < 2; ++i)
      mixture.posteriors[i] = random_posterior(Key(92).fold(i), mixture.factors[i].components,
                                               mixture.factors[i].dimensions);
  }
  BlockEncoding block(size_t factor) const {
    return mixture.split(mean, torch::exp(log_variance))[factor];
  }
};

TEST(FactorialMixture, TermsAreThoseOfItsBlocks) {
  const TwoFactors two;
  // Other parameters in the place of the first posterior.
  std::vector<FactorParameters> parameters(2);
  parameters[0] = random_posterior(Key(93), 4, 2).parameters();
  const auto terms = factor_terms(two.mixture, two.mean, two.log_variance, parameters, two.labels);
  ASSERT_EQ(terms.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const FactorTerms expected =
        factor_terms(two.block(i), i == 0 ? parameters[0] : two.mixture.posteriors[1].parameters(),
                     labels_of_factor(two.labels, i));
    EXPECT_TRUE(torch::equal(terms[i].responsibilities, expected.responsibilities));
    EXPECT_TRUE(torch::equal(terms[i].kl_z, expected.kl_z));
    EXPECT_TRUE(torch::equal(terms[i].kl_r, expected.kl_r));
    EXPECT_TRUE(torch::equal(terms[i].label_log_likelihood, expected.label_log_likelihood));
  }
}

TEST(FactorialMixture, AnUpdateMovesTheFactorsThatAreToMove) {
  TwoFactors two;
  const TwoFactors before;
  natural_gradient_update(two.mixture, two.mean, two.log_variance, two.labels, {7.0, number(0.3)},
                          {false, true});
  EXPECT_TRUE(torch::equal(two.mixture.posteriors[0].components.alpha,
                           before.mixture.posteriors[0].components.alpha));
  FactorPosterior expected = before.mixture.posteriors[1];
  const BlockEncoding block = before.block(1);
  const torch::Tensor gamma = e_step(block, expected, labels_of_factor(two.labels, 1));
  natural_step(expected, conjugate_posterior(statistics(block, gamma), 7.0, hyperprior),
               number(0.3));
  EXPECT_TRUE(torch::equal(two.mixture.posteriors[1].components.alpha, expected.components.alpha));
  EXPECT_TRUE(
      torch::equal(two.mixture.posteriors[1].components.alpha_mu, expected.components.alpha_mu));
  EXPECT_TRUE(torch::equal(two.mixture.posteriors[1].counts, expected.counts));
}

}  // namespace
}  // namespace facet
