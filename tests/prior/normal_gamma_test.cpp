// The distributions that the prior is made of: Normal-Gamma, Dirichlet and the Student-t
// predictive, against autograd, quadrature and their own samples.
#include "facet/prior/normal_gamma.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "facet/core/torch.h"
#include "facet/prior/student_t.h"
#include "tests/close.h"
#include "tests/prior/gamma_draws.h"

namespace facet {
namespace {

NormalGamma normal_gamma(double m, double s, double a, double b) {
  const auto one = [](double value) { return torch::full({1}, value, kFloat64); };
  return {one(m), one(s), one(a), one(b)};
}

/// log N(mu; m, 1/(s alpha)) + log Gamma(alpha; a, b), from the definition.
torch::Tensor log_density(const NormalGamma& q, const torch::Tensor& mu,
                          const torch::Tensor& alpha) {
  return 0.5 * torch::log(q.s * alpha / (2 * std::numbers::pi)) -
         0.5 * q.s * alpha * (mu - q.m).square() + q.a * torch::log(q.b) - torch::lgamma(q.a) +
         (q.a - 1) * torch::log(alpha) - q.b * alpha;
}

struct Estimate {
  double mean, error;
};
Estimate estimate(const torch::Tensor& values) {
  return {values.mean().item<double>(),
          values.std().item<double>() / std::sqrt(static_cast<double>(values.numel()))};
}

/// KL(q || p) as the mean of log q - log p over draws from q.
Estimate sampled_kl(const Key& key, const NormalGamma& q, const NormalGamma& p) {
  const torch::Tensor alpha = gamma_draws(key.fold("alpha"), q.a).squeeze(1) / q.b;
  const torch::Tensor mu = q.m + normal64(key.fold("mu"), {kDraws}) / torch::sqrt(q.s * alpha);
  return estimate(log_density(q, mu, alpha) - log_density(p, mu, alpha));
}

struct Pair {
  NormalGamma q, p;
};
std::vector<Pair> pairs() {
  return {{normal_gamma(0.3, 2.0, 3.0, 1.5), normal_gamma(-0.5, 0.7, 1.2, 2.0)},
          {normal_gamma(1.0, 30.0, 15.0, 9.0), normal_gamma(0.0, 1.0, 2.0, 1.0)},
          {normal_gamma(-2.0, 5.0, 6.0, 12.0), normal_gamma(-1.0, 8.0, 4.0, 3.0)}};
}

TEST(NormalGamma, NaturalRoundTrip) {
  const NormalGamma q = random_posterior(Key(1), 20, 7).mean();
  const NormalGamma back = to_mean(to_natural(q));
  // b is recovered from a sum with s m^2 / 2, about 100 times larger: 1e-16 becomes at most 1e-14.
  EXPECT_TRUE(close(back.m, q.m, 1e-13));
  EXPECT_TRUE(close(back.s, q.s, 1e-15));
  EXPECT_TRUE(close(back.a, q.a, 1e-13));
  EXPECT_TRUE(close(back.b, q.b, 1e-11));
}

TEST(NormalGamma, MomentsAreTheGradientOfTheLogNormaliser) {
  const NormalGamma q = random_posterior(Key(2), 6, 3).mean();
  NaturalNormalGamma natural = to_natural(q);
  std::vector<torch::Tensor> parameters = {natural.log_alpha, natural.alpha, natural.alpha_mu,
                                           natural.alpha_mu2};
  for (torch::Tensor& parameter : parameters) parameter.requires_grad_();
  const auto gradient = torch::autograd::grad({log_normaliser(natural).sum()}, parameters);
  const NormalGammaMoments expected = moments(q);
  // Two float64 computations, with cancellation in b.
  EXPECT_TRUE(close(gradient[0], expected.log_alpha, 1e-10, 1e-12));
  EXPECT_TRUE(close(gradient[1], expected.alpha, 1e-10));
  EXPECT_TRUE(close(gradient[2], expected.alpha_mu, 1e-10));
  EXPECT_TRUE(close(gradient[3], expected.alpha_mu2, 1e-10));
}

TEST(NormalGamma, NaturalFormIsTheSameDensity) {
  const NormalGamma q = normal_gamma(0.4, 3.0, 2.5, 1.7);
  const NaturalNormalGamma natural = to_natural(q);
  const torch::Tensor mu = normal64(Key(3), {50}), alpha = torch::exp(normal64(Key(4), {50}));
  const torch::Tensor exponential = natural.log_alpha * torch::log(alpha) + natural.alpha * alpha +
                                    natural.alpha_mu * alpha * mu +
                                    natural.alpha_mu2 * alpha * mu.square() -
                                    log_normaliser(natural);
  EXPECT_TRUE(close(exponential, log_density(q, mu, alpha), 1e-12, 1e-12));
}

TEST(NormalGamma, DivergenceFromItselfIsZeroAndFromOthersPositive) {
  const NormalGamma q = random_posterior(Key(5), 10, 4).mean();
  const NormalGamma p = random_posterior(Key(6), 10, 4).mean();
  // Sums of terms up to about 50 that cancel.
  EXPECT_TRUE(close(kl_divergence(q, q), torch::zeros({10, 4}), 0, 1e-12));
  EXPECT_GT(kl_divergence(q, p).min().item<double>(), 1e-3);
}

TEST(NormalGamma, DivergenceIsTheMeanLogRatioOfDraws) {
  uint64_t number = 10;
  for (const auto& [q, p] : pairs()) {
    const Estimate sampled = sampled_kl(Key(number++), q, p);
    // Five standard errors of the mean: a correct formula fails for one key in a million.
    EXPECT_NEAR(kl_divergence(q, p).item<double>(), sampled.mean, 5 * sampled.error);
  }
}

TEST(NormalGamma, ThePapersMisprintIsNotTheDivergence) {
  uint64_t number = 10;
  for (const auto& [q, p] : pairs()) {
    const Estimate sampled = sampled_kl(Key(number++), q, p);
    const torch::Tensor printed = kl_divergence(q, p) + torch::lgamma(q.a) - torch::lgamma(p.a) -
                                  torch::digamma(q.a) + torch::digamma(p.a);
    EXPECT_GT(std::abs(printed.item<double>() - sampled.mean), 20 * sampled.error);
  }
}

NormalGamma one_component(double m, double s, double a, double b) {
  const NormalGamma q = normal_gamma(m, s, a, b);
  return {q.m.view({1, 1}), q.s.view({1, 1}), q.a.view({1, 1}), q.b.view({1, 1})};
}

/// The probability that z is between m and m + sinh(u), for u from 0 to `last`, [steps + 1], by the
/// trapezoidal rule. The substitution reaches far into the tails.
struct Quadrature {
  torch::Tensor distance, probability;
};
Quadrature integrate(const NormalGamma& q, double last, int64_t steps) {
  const torch::Tensor u = torch::linspace(0, last, steps + 1, kFloat64);
  const torch::Tensor distance = torch::sinh(u);
  const torch::Tensor density =
      torch::exp(student_t_log_density((q.m + distance).view({-1, 1}), q).view({-1})) *
      torch::cosh(u);
  const torch::Tensor pieces =
      0.5 * (density.narrow(0, 0, steps) + density.narrow(0, 1, steps)) * (last / steps);
  return {distance, torch::cat({torch::zeros({1}, kFloat64), pieces.cumsum(0)})};
}

/// P(z <= x) for ascending x, from the quadrature of one side by symmetry.
std::vector<double> cumulative(const NormalGamma& q, const torch::Tensor& sorted) {
  const double last = std::asinh((sorted - q.m.item<double>()).abs().max().item<double>());
  const Quadrature table = integrate(q, last, 20'000);
  const auto* distance = table.distance.data_ptr<double>();
  const auto* probability = table.probability.data_ptr<double>();
  std::vector<double> result;
  for (int64_t n = 0; n < sorted.numel(); ++n) {
    const double offset = sorted[n].item<double>() - q.m.item<double>();
    const auto index = std::min<int64_t>(
        static_cast<int64_t>(std::asinh(std::abs(offset)) / last * 20'000), 19'999);
    const double part =
        (std::abs(offset) - distance[index]) / (distance[index + 1] - distance[index]);
    const double inside = probability[index] + part * (probability[index + 1] - probability[index]);
    result.push_back(offset < 0 ? 0.5 - inside : 0.5 + inside);
  }
  return result;
}

TEST(StudentT, DensityIntegratesToOne) {
  // From half a degree of freedom, where the tail beyond exp(80) has 1e-17, to nearly a Normal.
  for (const double a : {0.25, 0.5, 1.5, 10.0, 400.0}) {
    const NormalGamma q = one_component(-0.7, 2.0, a, 1.3 * a);
    EXPECT_NEAR(2 * integrate(q, 90, 40'000).probability[-1].item<double>(), 1.0, 1e-6) << a;
  }
}

TEST(StudentT, DensityIsTheNormalAveragedOverItsParameters) {
  const NormalGamma q = one_component(0.5, 3.0, 4.0, 2.0);
  const torch::Tensor alpha = gamma_draws(Key(30), q.a.view({1})).squeeze(1) / 2.0;
  const torch::Tensor mu = 0.5 + normal64(Key(31), {kDraws}) / torch::sqrt(3.0 * alpha);
  for (const double z : {-1.5, 0.0, 0.6, 2.5}) {
    const Estimate sampled = estimate(torch::sqrt(alpha / (2 * std::numbers::pi)) *
                                      torch::exp(-0.5 * alpha * (z - mu).square()));
    const double density =
        std::exp(student_t_log_density(torch::full({1, 1}, z, kFloat64), q).item<double>());
    EXPECT_NEAR(density, sampled.mean, 5 * sampled.error) << z;
  }
}

TEST(StudentT, DrawsFollowTheDensity) {
  constexpr int64_t count = 10'000;
  for (const double a : {0.25, 0.5, 1.5, 20.0}) {
    const NormalGamma q = one_component(0.4, 1.5, a, 0.8 * a);
    const auto rows = [](const torch::Tensor& tensor) { return tensor.expand({count, 1}).clone(); };
    const torch::Tensor z =
        student_t_sample(Key(40), {rows(q.m), rows(q.s), rows(q.a), rows(q.b)}).view({-1});
    const torch::Tensor sorted = std::get<0>(z.sort());
    const std::vector<double> expected = cumulative(q, sorted);
    double distance = 0;
    for (int64_t n = 0; n < count; ++n) {
      const double below = static_cast<double>(n) / count;
      distance = std::max({distance, std::abs(expected[static_cast<size_t>(n)] - below),
                           std::abs(expected[static_cast<size_t>(n)] - below - 1.0 / count)});
    }
    // Kolmogorov-Smirnov: correct draws exceed 2.2 / sqrt(n) for one key in 8000; using the squared
    // scale as the scale would give 0.07, three times that.
    EXPECT_LT(distance * std::sqrt(count), 2.2) << "2a = " << 2 * a;
  }
}

TEST(StudentT, DrawsOfAComponentWithoutDataAreFiniteAndHeavyTailed) {
  constexpr int64_t count = 20'000;
  const auto rows = [](double value) { return torch::full({count, 1}, value, kFloat64); };
  const torch::Tensor z =
      student_t_sample(Key(41), {rows(0), rows(1), rows(0.01), rows(0.01)}).view({-1});
  ASSERT_TRUE(torch::isfinite(z).all().item<bool>());
  const NormalGamma q = one_component(0, 1, 0.01, 0.01);
  // Three draws in four are beyond 1e6, where the sampler's floor on the Gamma draw puts them.
  for (const double limit : {1.0, 100.0, 1000.0}) {
    const double expected =
        2 * integrate(q, std::asinh(limit), 20'000).probability[-1].item<double>();
    const double share = z.abs().le(limit).to(kFloat64).mean().item<double>();
    EXPECT_NEAR(share, expected, 5 * std::sqrt(expected * (1 - expected) / count)) << limit;
  }
}

TEST(StudentT, DrawsDependOnTheKeyAlone) {
  const NormalGamma q = random_posterior(Key(42), 8, 3).mean();
  EXPECT_TRUE(torch::equal(student_t_sample(Key(43), q), student_t_sample(Key(43), q)));
  EXPECT_FALSE(torch::equal(student_t_sample(Key(43), q), student_t_sample(Key(44), q)));
}

}  // namespace
}  // namespace facet
