// Measures between sets of features: against closed forms, against loops, and in cases where the
// answer is known.
#include "facet/eval/fidelity.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/portraits.h"
#include "facet/eval/feature_network.h"
#include "tests/close.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

TEST(FrechetDistance, MatchesNormalDistributionsThatCommute) {
  // Features whose mean and covariance are exact: +-1 in every combination, scaled and shifted.
  const torch::Tensor corners =
      torch::tensor({-1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0}, kFloat64).view({4, 2}) *
      std::sqrt(3.0 / 4.0);  // variance 1 with the divisor N - 1
  const torch::Tensor scales = torch::tensor({2.0, 0.5}, kFloat64);
  const torch::Tensor other = corners * scales + torch::tensor({3.0, -1.0}, kFloat64);
  // |m|^2 + sum (1 - scale)^2
  EXPECT_NEAR(frechet_distance(corners, other), 10 + 1 + 0.25, 1e-9);
  EXPECT_NEAR(frechet_distance(corners, corners), 0, 1e-9);
}

TEST(FrechetDistance, IsTheSameInRotatedCoordinatesAndBothWays) {
  const torch::Tensor a = normal64(Key(1), {300, 4}), mix = normal64(Key(2), {4, 4});
  const torch::Tensor b = normal64(Key(3), {200, 4}).matmul(mix) + 0.5;
  const auto [rotation, triangle] = torch::linalg_qr(normal64(Key(4), {4, 4}));
  const double distance = frechet_distance(a, b);
  EXPECT_GT(distance, 0.5);
  EXPECT_NEAR(frechet_distance(a.matmul(rotation), b.matmul(rotation)), distance, 1e-6 * distance);
  EXPECT_NEAR(frechet_distance(b, a), distance, 1e-6 * distance);
}

double loop_mmd(const torch::Tensor& a, const torch::Tensor& b) {
  const auto kernel = [&](const torch::Tensor& x, const torch::Tensor& y) {
    const double value = x.dot(y).item<double>() / static_cast<double>(a.size(1)) + 1;
    return value * value * value;
  };
  const int64_t n = a.size(0), m = b.size(0);
  double aa = 0, bb = 0, ab = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (i != j) aa += kernel(a[i], a[j]) / static_cast<double>(n * (n - 1));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < m; ++j)
      if (i != j) bb += kernel(b[i], b[j]) / static_cast<double>(m * (m - 1));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) ab += kernel(a[i], b[j]) / static_cast<double>(n * m);
  return aa + bb - 2 * ab;
}

TEST(KernelDistance, MatchesALoop) {
  const torch::Tensor a = normal64(Key(1), {12, 3}), b = normal64(Key(2), {12, 3}) + 0.3;
  const double halves[] = {loop_mmd(a.narrow(0, 0, 6), b.narrow(0, 0, 6)),
                           loop_mmd(a.narrow(0, 6, 6), b.narrow(0, 6, 6))};
  const KernelDistance two = kernel_distance(a, b, 2);
  EXPECT_NEAR(two.value, loop_mmd(a, b), 1e-10);
  EXPECT_NEAR(two.standard_error, std::abs(halves[0] - halves[1]) / 2, 1e-10);
}

TEST(KernelDistance, IsZeroWithinItsErrorForOneDistribution) {
  const torch::Tensor a = normal64(Key(1), {2000, 8}), b = normal64(Key(2), {2000, 8});
  const KernelDistance same = kernel_distance(a, b, 10);
  EXPECT_LT(std::abs(same.value), 4 * same.standard_error);
  const KernelDistance other = kernel_distance(a, b + 0.5, 10);
  EXPECT_GT(other.value, 10 * other.standard_error);
}

TEST(NeighbourMeasures, MatchLoops) {
  const torch::Tensor images = normal64(Key(1), {30, 2}), samples = normal64(Key(2), {25, 2}) * 1.5;
  const int64_t k = 3;
  const auto distance = [](const torch::Tensor& x, const torch::Tensor& y) {
    return (x - y).norm().item<double>();
  };
  const auto radius = [&](const torch::Tensor& set, int64_t i) {
    std::vector<double> all;
    for (int64_t j = 0; j < set.size(0); ++j)
      if (j != i) all.push_back(distance(set[i], set[j]));
    std::sort(all.begin(), all.end());
    return all[k - 1];
  };
  int64_t precise = 0, recalled = 0, covered = 0, inside = 0;
  for (int64_t s = 0; s < 25; ++s) {
    int64_t balls = 0;
    for (int64_t i = 0; i < 30; ++i) balls += distance(samples[s], images[i]) <= radius(images, i);
    precise += balls > 0;
    inside += balls;
  }
  for (int64_t i = 0; i < 30; ++i) {
    bool in_ball = false, has_sample = false;
    for (int64_t s = 0; s < 25; ++s) {
      in_ball |= distance(samples[s], images[i]) <= radius(samples, s);
      has_sample |= distance(samples[s], images[i]) <= radius(images, i);
    }
    recalled += in_ball;
    covered += has_sample;
  }
  const NeighbourMeasures measures = neighbour_measures(images, samples, k);
  EXPECT_NEAR(measures.precision, static_cast<double>(precise) / 25, 1e-12);
  EXPECT_NEAR(measures.recall, static_cast<double>(recalled) / 30, 1e-12);
  EXPECT_NEAR(measures.density, static_cast<double>(inside) / (25 * 3), 1e-12);
  EXPECT_NEAR(measures.coverage, static_cast<double>(covered) / 30, 1e-12);
}

TEST(NeighbourMeasures, TellFewSamplesFromStrayOnes) {
  const torch::Tensor images = normal64(Key(1), {400, 2});
  const NeighbourMeasures narrow = neighbour_measures(images, 0.1 * normal64(Key(2), {400, 2}), 5);
  EXPECT_GT(narrow.precision, 0.99);
  EXPECT_LT(narrow.recall, 0.1);
  const NeighbourMeasures stray = neighbour_measures(images, 10 * normal64(Key(2), {400, 2}), 5);
  EXPECT_LT(stray.precision, 0.2);
  const NeighbourMeasures same = neighbour_measures(images, normal64(Key(3), {400, 2}), 5);
  EXPECT_NEAR(same.density, 1, 0.1);
  EXPECT_GT(same.coverage, 0.9);
}

TEST(ShareRecognised, CountsPicturesThatAreNearestToThemselves) {
  const torch::Tensor pictures = normal64(Key(1), {300, 8});
  EXPECT_EQ(share_recognised(pictures, pictures + 100), 1) << "all have moved together";
  EXPECT_EQ(share_recognised(pictures, pictures.roll(1, 0)), 0);
  torch::Tensor exchanged = pictures.clone();
  exchanged[0] = pictures[299];
  exchanged[299] = pictures[0];
  EXPECT_DOUBLE_EQ(share_recognised(pictures, exchanged), 298.0 / 300);
  EXPECT_LT(share_recognised(pictures, normal64(Key(2), {300, 8})), 0.05) << "chance is 1/300";
}

TEST(Fidelity, RefusesTooFewFeatures) {
  EXPECT_NE(message_of([] {
              measure_fidelity("few", normal64(Key(1), {10, 3}), normal64(Key(2), {10, 3}));
            }).find("expected at least"),
            std::string::npos);
}

TEST(ContrastiveLoss, IsLowestForViewsThatMatch) {
  const torch::Tensor views = torch::eye(6, kFloat32);
  const auto loss = [&](const torch::Tensor& other) {
    return contrastive_loss(views, other, 0.2).item<double>();
  };
  // One partner with similarity 1 among 11 views: log(e^5 + 10) - 5.
  EXPECT_NEAR(loss(views), std::log(std::exp(5.0) + 10) - 5, 1e-5);
  EXPECT_NEAR(loss(3 * views), loss(views), 1e-5);
  EXPECT_GT(loss(views.roll(1, 0)), loss(views) + 1);
}

TEST(FeatureNetwork, TellsBlurredImagesAndIsKeptInItsFile) {
  const TemporaryFolder folder;
  const Pack pack = make_portraits({600, 16, 1});
  ImageSet images = select_images(pack, {Split::train}, {}, false, torch::kCPU);
  int trained = 0;
  const auto network = [&](int64_t steps) {
    return cached_feature_network(folder / "features", images, fingerprint(pack), torch::kCPU,
                                  {.steps = steps, .batch_size = 32}, [&] { ++trained; });
  };
  const torch::Tensor pixels = images.pixels.slice(0, 400);
  const torch::Tensor first = network(20).features(pixels);
  EXPECT_TRUE(first.equal(network(20).features(pixels)));
  EXPECT_EQ(trained, 1);
  EXPECT_FALSE(first.equal(network(21).features(pixels)));
  EXPECT_EQ(trained, 2);
  const torch::Tensor blurred = torch::avg_pool2d(pixels.to(kFloat32), 3, 1, 1).round().to(kUInt8);
  const FeatureNetwork one = network(21);
  const torch::Tensor a = one.features(pixels.narrow(0, 0, 200));
  const torch::Tensor scale = a.std(0, /*unbiased=*/true).clamp_min(1e-3);
  const auto distance = [&](const torch::Tensor& others) {
    return kernel_distance(a / scale, one.features(others) / scale, 4).value;
  };
  EXPECT_GT(distance(blurred.narrow(0, 200, 200)),
            3 * std::abs(distance(pixels.narrow(0, 200, 200))));
}

}  // namespace
}  // namespace facet
