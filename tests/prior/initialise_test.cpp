// k-means and the initialisation of a mixture from its clusters, which keeps components alive.
#include "facet/prior/initialise.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/prior/kmeans.h"
#include "tests/close.h"

namespace facet {
namespace {

/// Points with a stddev of 0.5 around centres that are 100 apart; point n is in blob n % blobs.
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
    // One cluster per blob: all its points are in the cluster of its first point.
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

TEST(KMeans, OfIdenticalPointsIsFinite) {
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

/// Encodings like those of a pre-trained network: ten active dimensions with clusters, and thirty
/// inactive ones, where q(z|x) is N(0, 1).
BlockEncoding partly_inactive(const Key& key, int64_t clusters, int64_t images) {
  const torch::Tensor centres = 2.0 * normal64(key.fold("centres"), {clusters, 10});
  const torch::Tensor active = centres.index_select(0, torch::arange(images).remainder(clusters)) +
                               0.5 * normal64(key.fold("active"), {images, 10});
  const torch::Tensor inactive = 0.03 * normal64(key.fold("inactive"), {images, 30});
  return {torch::cat({active, inactive}, 1), torch::cat({torch::full({images, 10}, 0.05, kFloat64),
                                                         torch::full({images, 30}, 1.0, kFloat64)},
                                                        1)};
}

TEST(InitialPosterior, VarianceIsThatWithinClustersPlusTheEncoders) {
  const BlockEncoding block = partly_inactive(Key(40), 6, 300);
  const FactorPosterior posterior = initial_posterior(Key(41), block, 6, 6000, 10, kHyperprior);
  const KMeans clusters = k_means(Key(41), block.mean, 6, 10);
  const torch::Tensor within =
      (block.mean - clusters.centres.index_select(0, clusters.assignments)).square().mean(0);
  const NormalGamma q = posterior.mean();
  EXPECT_TRUE(close(q.b / q.a, (within + block.variance.mean(0)).expand({6, 40}), 1e-10));
  EXPECT_TRUE(close(q.m, clusters.centres, 1e-12, 1e-12));
  // The counts are those of 6000 images, though it saw 300.
  EXPECT_NEAR(posterior.counts.sum().item<double>(), 6000 + 6 * kHyperprior.c0, 1e-8);
  EXPECT_TRUE(
      close(q.s, (kHyperprior.s0 + 20 * clusters.counts.to(kFloat64)).unsqueeze(1).expand({6, 40}),
            1e-12));
}

/// The number of components with more than one image after 500 natural-gradient steps.
int64_t living_after_training(const BlockEncoding& block, FactorPosterior posterior) {
  const int64_t images = block.mean.size(0);
  for (uint64_t step = 0; step < 500; ++step) {
    const torch::Tensor chosen = permutation(Key(42).fold(step), images).narrow(0, 0, 64);
    const BlockEncoding batch{block.mean.index_select(0, chosen),
                              block.variance.index_select(0, chosen)};
    natural_step(posterior,
                 conjugate_posterior(statistics(batch, e_step(batch, posterior, {})),
                                     static_cast<double>(images) / 64, Hyperprior{}),
                 number(0.01 * std::pow(1 + static_cast<double>(step) / 2000, -0.7)));
  }
  return e_step(block, posterior, {}).sum(0).gt(1).sum().item<int64_t>();
}

TEST(InitialPosterior, KeepsComponentsAliveDespiteInactiveDimensions) {
  const BlockEncoding block = partly_inactive(Key(43), 32, 3200);
  const FactorPosterior right = initial_posterior(Key(44), block, 32, 3200, 20, Hyperprior{});
  EXPECT_GE(living_after_training(block, right), 24);  // 28 to 31 over eight keys

  // The same initialisation without the encoder's variance: in inactive dimensions a component's
  // variance is 0.001 instead of 1, and the first component to adapt takes all images.
  const BlockEncoding blind{block.mean, torch::full_like(block.variance, 1e-6)};
  const FactorPosterior wrong = initial_posterior(Key(44), blind, 32, 3200, 20, Hyperprior{});
  EXPECT_LE(living_after_training(block, wrong), 4);  // 1 with every key
}

}  // namespace
}  // namespace facet
