// Dead components are revived by splitting heavy ones.
#include "facet/prior/revive.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"

namespace facet {
namespace {

const auto options = torch::TensorOptions().dtype(kFloat64);
constexpr int64_t components = 4, dimensions = 3;

/// Components 0 and 1 have `first` and `second` images, at +2 and -2 with a variance of 0.25; the
/// others have none.
FactorPosterior posterior_of(double first, double second, const Hyperprior& prior) {
  const torch::Tensor images = torch::tensor({first, second, 0.0, 0.0}, options);
  const torch::Tensor spread = images.unsqueeze(1).expand({components, dimensions});
  const torch::Tensor m =
      torch::tensor({2.0, -2.0, 0.0, 0.0}, options).unsqueeze(1).expand({components, dimensions});
  const torch::Tensor a = prior.a0 + 0.5 * spread;
  return FactorPosterior::from_mean({m, prior.s0 + spread, a, 0.25 * a}, prior.c0 + images);
}

TEST(Revive, HalvesTheHeaviestComponents) {
  const Hyperprior prior;
  FactorPosterior posterior = posterior_of(600, 400, prior);
  EXPECT_EQ(revive_dead_components(Key(1), posterior, prior), 2);
  const torch::Tensor images = posterior.counts - prior.c0;
  const torch::Tensor expected = torch::tensor({300.0, 200.0, 300.0, 200.0}, options);
  EXPECT_TRUE(torch::allclose(images, expected)) << images;
  // All natural parameters are set, not only the mean: half of the evidence, the same variance.
  const NormalGamma mean = posterior.mean();
  EXPECT_TRUE(torch::allclose(mean.s.select(1, 0) - prior.s0, expected));
  EXPECT_TRUE(torch::allclose(mean.a.select(1, 0) - prior.a0, 0.5 * expected));
  EXPECT_TRUE(torch::allclose(mean.b / mean.a, torch::full_like(mean.b, 0.25)));
  // The halves of a component lie on both sides of its old mean.
  EXPECT_TRUE(
      torch::allclose(0.5 * (mean.m[0] + mean.m[2]), torch::full({dimensions}, 2.0, options)));
  EXPECT_NEAR((mean.m[0] - mean.m[2]).norm().item<double>(), 2 * std::sqrt(0.25), 1e-9)
      << "one stddev each, over all dimensions together";
}

TEST(Revive, DoesNothingIfAllAreAliveOrNoneIsHeavy) {
  const Hyperprior prior;
  FactorPosterior light = posterior_of(10, 5, prior);
  const torch::Tensor before = light.counts.clone();
  EXPECT_EQ(revive_dead_components(Key(1), light, prior), 0);
  EXPECT_TRUE(torch::equal(light.counts, before));
  FactorPosterior alive = posterior_of(600, 400, prior);
  revive_dead_components(Key(1), alive, prior);
  EXPECT_EQ(revive_dead_components(Key(2), alive, prior), 0);
}

}  // namespace
}  // namespace facet
