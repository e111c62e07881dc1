// Point-mass posteriors are plain mixtures of Gaussians, in the bound and in the predictive.
#include "facet/prior/point_mass.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/prior/weights.h"
#include "tests/close.h"

namespace facet {
namespace {

struct PlainMixture {
  torch::Tensor mean = normal64(Key(1), {5, 7}), variance = normal64(Key(2), {5, 7}).exp(),
                weights = torch::softmax(normal64(Key(3), {5}), 0);

  FactorPosterior posterior() const { return point_mass_posterior(mean, variance, weights); }
  /// log N(z; component k), [B, K], from the definition.
  torch::Tensor log_normal(const torch::Tensor& z) const {
    const torch::Tensor offset = z.unsqueeze(1) - mean;
    return -0.5 *
           (offset.square() / variance + torch::log(2.0 * std::numbers::pi * variance)).sum(2);
  }
};

TEST(PointMass, TheBoundIsThatOfAPlainMixture) {
  const PlainMixture plain;
  const BlockEncoding block = random_block(Key(4), 6, 7);
  const FactorTerms terms = factor_terms(block, plain.posterior(), {});
  // E_q[log N(z; k)] of a Gaussian q: the log density at its mean, minus half the sum of the ratios
  // of variances.
  const torch::Tensor expected =
      plain.log_normal(block.mean) - 0.5 * block.variance.matmul(plain.variance.reciprocal().t());
  const torch::Tensor gamma = torch::softmax(expected + torch::log(plain.weights), 1);
  EXPECT_TRUE(close(terms.responsibilities, gamma, 1e-4));
  const torch::Tensor entropy =
      0.5 * torch::log(2.0 * std::numbers::pi * std::numbers::e * block.variance).sum(1);
  EXPECT_TRUE(close(terms.kl_z, -(gamma * expected).sum(1) - entropy, 0, 1e-4));
  EXPECT_TRUE(close(terms.kl_r, (gamma * torch::log(gamma / plain.weights)).sum(1), 0, 1e-4));
}

TEST(PointMass, ThePredictiveIsGaussian) {
  const PlainMixture plain;
  const torch::Tensor z = normal64(Key(5), {9, 7});
  EXPECT_TRUE(close(predictive_log_density(z, plain.posterior()),
                    torch::logsumexp(torch::log(plain.weights) + plain.log_normal(z), 1), 0, 1e-4));
}

TEST(PointMass, ASingleComponentAtTheOriginIsTheStandardNormal) {
  const BlockEncoding block = random_block(Key(6), 8, 4);
  const torch::Tensor zeros = torch::zeros({1, 4}, kFloat64);
  const FactorTerms terms = factor_terms(
      block, point_mass_posterior(zeros, torch::ones_like(zeros), torch::ones({1})), {});
  const torch::Tensor kl =
      0.5 * (block.mean.square() + block.variance - 1.0 - torch::log(block.variance)).sum(1);
  EXPECT_TRUE(close(terms.kl_z, kl, 0, 1e-5));
  EXPECT_TRUE(close(terms.kl_r, torch::zeros_like(kl), 0, 1e-9));
}

TEST(PointMass, ConversionKeepsMeansVariancesAndWeightsAndIsIdempotent) {
  const FactorPosterior posterior = random_posterior(Key(7), 4, 3);
  const FactorPosterior once = to_point_mass(posterior), twice = to_point_mass(once);
  const NormalGamma before = posterior.mean(), after = once.mean();
  EXPECT_TRUE(close(after.m, before.m, 1e-9, 1e-9));
  EXPECT_TRUE(close(after.b / after.a, before.b / before.a, 1e-7));
  EXPECT_TRUE(close(once.expected_weights(), posterior.expected_weights(), 1e-12));
  EXPECT_TRUE(close(twice.components.alpha, once.components.alpha, 1e-9));
}

}  // namespace
}  // namespace facet
