// Learned hyperpriors: the best ones for given posteriors, and bounded.
#include "facet/prior/hyperprior.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "tests/close.h"

namespace facet {
namespace {

double divergence(const FactorPosterior& posterior, const FactorHyperprior& hyperprior) {
  const HyperpriorKl kl = hyperprior_kl(posterior.parameters(), hyperprior);
  return (kl.components.sum() + kl.weights).item<double>();
}

TEST(LearnedHyperprior, HasTheSmallestDivergenceInEveryNumber) {
  const FactorPosterior posterior = random_posterior(Key(1), 40, 3);
  FactorHyperprior learned(Hyperprior{}, 3);
  const double before = divergence(posterior, learned);
  learn_hyperprior(learned, posterior);
  const double best = divergence(posterior, learned);
  EXPECT_LT(best, before);
  for (const auto& [name, tensor] : learned.tensors()) {
    const torch::Tensor kept = tensor.clone();
    for (const double by : {-0.02, 0.02}) {
      // m0 is shifted, since it may be near 0; the others are scaled.
      if (name == "m0")
        tensor.add_(by);
      else
        tensor.mul_(1 + by);
      EXPECT_GT(divergence(posterior, learned), best) << name << " " << by;
      tensor.copy_(kept);
    }
  }
  // In every dimension by itself.
  EXPECT_GT((learned.components.s - learned.components.s[0]).abs().max().item<double>(), 1e-3);
}

TEST(LearnedHyperprior, OfADimensionThatNoComponentUsesChargesNothing) {
  // 50 components with 200 images each; in dimension 1 all have the same mean and variance.
  const torch::Tensor images = torch::full({50, 2}, 200.0, kFloat64);
  torch::Tensor m = torch::zeros({50, 2}, kFloat64);
  m.select(1, 0).copy_(2.0 * normal64(Key(2), {50}));
  FactorHyperprior hyperprior(Hyperprior{}, 2);
  FactorPosterior posterior = FactorPosterior::from_mean(
      {m, 1 + images, 0.5 * images, 0.5 * images}, 1 + images.select(1, 0));
  const auto charge = [&](int64_t d) {
    const NormalGamma q = posterior.mean();
    return 0.5 *
           (torch::log(q.a) - torch::digamma(q.a) + 1 / q.s).select(1, d).sum().item<double>();
  };
  const double before = charge(1);
  for (int i = 0; i < 30; ++i) {
    learn_hyperprior(hyperprior, posterior);
    // What images like these give with the learned hyperprior.
    const auto& [m0, s0, a0, b0] = hyperprior.components;
    posterior = FactorPosterior::from_mean(
        {(s0 * m0 + images * m) / (s0 + images), s0 + images, a0 + 0.5 * images, b0 + 0.5 * images},
        posterior.counts);
  }
  EXPECT_LT(charge(1), 0.15 * before);
  EXPECT_GT(charge(0), 0.5 * before) << "dimension 0 tells components apart";
  EXPECT_TRUE(close(posterior.mean().m.select(1, 0), m.select(1, 0), 0.02, 0.02));
}

TEST(LearnedHyperprior, IsBoundedIfComponentsAgreeOrHaveOneImage) {
  for (const double images : {1.5, 1000.0}) {
    const torch::Tensor all = torch::full({20, 2}, images, kFloat64);
    FactorHyperprior hyperprior(Hyperprior{}, 2);
    for (int i = 0; i < 200; ++i) {
      const auto& [m0, s0, a0, b0] = hyperprior.components;
      learn_hyperprior(hyperprior, FactorPosterior::from_mean({torch::zeros_like(all), s0 + all,
                                                               a0 + 0.5 * all, b0 + 0.5 * all},
                                                              hyperprior.count + all.select(1, 0)));
    }
    for (const auto& [name, tensor] : hyperprior.tensors())
      EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>()) << name;
    EXPECT_LE(hyperprior.components.s.max().item<double>(), 10 * images + 1);
    EXPECT_LE(hyperprior.components.a.max().item<double>(), 5 * images + 1);
    EXPECT_GT(hyperprior.components.b.min().item<double>(), 0);
  }
}

TEST(LearnedHyperprior, StaysWithFewerThanTwoLivingComponents) {
  FactorialMixture mixture({{"digit", 5, 2}}, Hyperprior{});
  mixture.posteriors[0].counts[3] = 400.0;
  learn_hyperprior(mixture.hyperpriors[0], mixture.posteriors[0]);
  const FactorHyperprior start(Hyperprior{}, 2);
  EXPECT_TRUE(torch::equal(mixture.hyperpriors[0].components.s, start.components.s));
  EXPECT_TRUE(torch::equal(mixture.hyperpriors[0].count, start.count));
}

}  // namespace
}  // namespace facet
