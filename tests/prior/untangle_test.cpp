// Untangled coordinates separate independent properties, and every step towards them does its part.
#include "facet/prior/untangle.h"

#include <set>

#include <gtest/gtest.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"
#include "facet/eval/clusters.h"
#include "facet/prior/kmeans.h"

namespace facet {
namespace {

constexpr int64_t kImages = 4000, kProperties = 3, kValues = 4;

struct Scene {
  torch::Tensor truth;  ///< int64 [images, properties]
  torch::Tensor means;  ///< float64 [images, 2 * properties], mixed by a random linear map
};

/// Independent properties, each with four clusters in its own plane, mixed by a random linear map.
Scene mixed_properties(const Key& key) {
  const auto options = torch::TensorOptions().dtype(kFloat64);
  const torch::Tensor truth =
      torch::randint(kValues, {kImages, kProperties}, key.fold("truth").generator(), kInt64);
  const torch::Tensor corners =
      torch::tensor({0.0, 0.0, 2.0, 0.3, 0.4, 2.0, 3.0, 3.0}, options).view({4, 2});
  std::vector<torch::Tensor> planes;
  for (int64_t p = 0; p < kProperties; ++p)
    planes.push_back(corners.index_select(0, truth.select(1, p)));
  const torch::Tensor source =
      torch::cat(planes, 1) + 0.1 * standard_normal(key.fold("noise"), {kImages, 6}, options);
  return {truth, source.matmul(standard_normal(key.fold("map"), {6, 6}, options))};
}

/// NMI of the clusters in one block of coordinates with every property.
std::vector<double> agreement(const torch::Tensor& block, const torch::Tensor& truth) {
  const torch::Tensor found = k_means(Key(5), block, kValues, 50).assignments;
  const auto column = [](const torch::Tensor& tensor) {
    const torch::Tensor plain = tensor.contiguous();
    return std::vector<int64_t>(plain.data_ptr<int64_t>(),
                                plain.data_ptr<int64_t>() + plain.numel());
  };
  std::vector<double> scores;
  for (int64_t p = 0; p < kProperties; ++p)
    scores.push_back(normalised_mutual_information(
        contingency(column(found), column(truth.select(1, p)), kValues, kValues)));
  return scores;
}

TEST(Untangle, GivesEveryFactorADifferentProperty) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Scene scene = mixed_properties(Key(seed));
    const Coordinates found =
        untangle(Key(seed), scene.means, {{2, kValues, {}}, {2, kValues, {}}, {2, kValues, {}}});
    const torch::Tensor transformed = (scene.means - found.centre).matmul(found.transform.t());
    std::set<size_t> properties_found;
    for (const torch::Tensor& block : transformed.split(2, 1)) {
      const auto scores = agreement(block, scene.truth);
      const auto best = std::max_element(scores.begin(), scores.end());
      // Clusters are ten standard deviations apart; k-means may still merge two of four, giving
      // 0.8.
      EXPECT_GT(*best, 0.75) << "seed " << seed;
      properties_found.insert(static_cast<size_t>(best - scores.begin()));
    }
    EXPECT_EQ(properties_found.size(), 3u) << "seed " << seed;
  }
}

TEST(Untangle, IsNeededBecauseBlocksByPositionMixProperties) {
  const Scene scene = mixed_properties(Key(1));
  for (const torch::Tensor& block : scene.means.split(2, 1)) {
    const auto scores = agreement(block, scene.truth);
    EXPECT_LT(*std::max_element(scores.begin(), scores.end()), 0.75);
  }
}

TEST(Untangle, DoesNotScaleUpDirectionsWithoutInformation) {
  const auto options = torch::TensorOptions().dtype(kFloat64);
  torch::Tensor means = standard_normal(Key(3), {kImages, 5}, options);
  means.select(1, 2).mul_(1e-4);
  means.select(1, 4).mul_(1e-4);
  const Coordinates found = untangle(Key(3), means, {{3, 4, {}}, {2, 4, {}}});
  // Active variances are near one already, so that rows have norm near one; inactive rows exactly.
  EXPECT_LT(found.transform.norm(2, 1).max().item<double>(), 1.2);
  const torch::Tensor transformed = (means - found.centre).matmul(found.transform.t());
  EXPECT_EQ(transformed.var(0).gt(0.5).sum().item<int64_t>(), 3);
  EXPECT_TRUE(std::isfinite(torch::linalg_inv(found.transform).abs().max().item<double>()));
}

TEST(Untangle, GivesANamedFactorTheDirectionsThatDiscriminateItsValues) {
  const Scene scene = mixed_properties(Key(2));
  // The third property names the first block; one image in ten has a label.
  torch::Tensor labels = scene.truth.select(1, 2).clone();
  labels.slice(0, kImages / 10).fill_(-1);
  const Coordinates found =
      untangle(Key(2), scene.means, {{2, kValues, labels}, {2, kValues, {}}, {2, kValues, {}}});
  const torch::Tensor transformed = (scene.means - found.centre).matmul(found.transform.t());
  const auto named = agreement(transformed.narrow(1, 0, 2), scene.truth);
  EXPECT_GT(named[2], 0.75);
  for (const int64_t start : {2, 4})
    EXPECT_LT(agreement(transformed.narrow(1, start, 2), scene.truth)[2], 0.05);
}

TEST(Untangle, AcceptsMoreValuesThanActiveDirections) {
  const auto options = torch::TensorOptions().dtype(kFloat64);
  torch::Tensor means = standard_normal(Key(6), {kImages, 5}, options);
  means.narrow(1, 2, 3).mul_(1e-4);  // two of five are active
  const torch::Tensor labels = torch::arange(kImages).remainder(8);
  const Coordinates found = untangle(Key(6), means, {{4, 8, labels}, {1, 4, {}}});
  EXPECT_EQ(found.transform.size(0), 5);
  EXPECT_EQ(torch::linalg_matrix_rank(found.transform).item<int64_t>(), 5);
}

TEST(Untangle, APropertyWithOneKnownValueGetsNoDirection) {
  const Scene scene = mixed_properties(Key(2));
  torch::Tensor labels = torch::full({kImages}, -1, kInt64);
  labels.narrow(0, 0, 10).fill_(1);
  const Coordinates found = untangle(Key(2), scene.means, {{2, kValues, labels}, {4, kValues, {}}});
  EXPECT_EQ(torch::linalg_matrix_rank(found.transform).item<int64_t>(), 6);
}

/// Columns of unit variance, rotated: a coin toss with noise, rare events, and noise.
torch::Tensor rotated_columns(const torch::Tensor& rotation) {
  const auto options = torch::TensorOptions().dtype(kFloat64);
  const torch::Tensor noise = standard_normal(Key(8), {kImages, 3}, options);
  const torch::Tensor coin = uniform(Key(9), {kImages}, options).gt(0.5).to(kFloat64) * 2 - 1;
  const torch::Tensor rare = uniform(Key(10), {kImages}, options).lt(0.03).to(kFloat64) * 6;
  const torch::Tensor columns = torch::stack(
      {coin + 0.2 * noise.select(1, 0), rare + noise.select(1, 1), noise.select(1, 2)}, 1);
  const torch::Tensor centred = columns - columns.mean(0);
  return (centred / centred.std(0)).matmul(rotation);
}

TEST(Untangle, PrefersClustersToRareEvents) {
  const auto options = torch::TensorOptions().dtype(kFloat64);
  const torch::Tensor skew = standard_normal(Key(11), {3, 3}, options);
  const torch::Tensor rotated = rotated_columns(torch::matrix_exp(skew - skew.t()));
  const torch::Tensor found = rotated.matmul(clustered_rotation(rotated).t());
  const torch::Tensor fourth = found.pow(4).mean(0);
  // Two narrow clusters have a fourth moment near 1, a Gaussian 3, rare events more.
  EXPECT_LT(fourth.min().item<double>(), 1.3);
}

TEST(Untangle, RotatesClustersIntoTheBlockWithAMixture) {
  const auto options = torch::TensorOptions().dtype(kFloat64);
  torch::Tensor skew = torch::zeros({3, 3}, options);
  skew[0][2] = 0.5;  // half a radian: part of the coin toss is in the last column
  const torch::Tensor rotated = rotated_columns(torch::matrix_exp(skew - skew.t()));
  const torch::Tensor rotation = mixture_rotation(Key(12), rotated, {1}, {2});
  EXPECT_TRUE(torch::allclose(rotation.matmul(rotation.t()), torch::eye(3, options), 1e-9, 1e-9));
  EXPECT_GT(rotated.select(1, 0).pow(4).mean().item<double>(), 1.5);
  EXPECT_LT(rotated.matmul(rotation.t()).select(1, 0).pow(4).mean().item<double>(), 1.3);
}

TEST(Untangle, DependenceIsZeroForIndependentAndHighForEqualColumns) {
  const auto options = torch::TensorOptions().dtype(kFloat64);
  torch::Tensor values_of_columns = standard_normal(Key(4), {kImages, 3}, options);
  values_of_columns.select(1, 2).copy_(values_of_columns.select(1, 0).exp());
  const torch::Tensor dependence = pairwise_dependence(values_of_columns, 10);
  // A monotone function of a column has the same bins: log 10 nats. Independent columns have a bias
  // of (9 * 9) / (2 N).
  EXPECT_NEAR(dependence[0][2].item<double>(), std::log(10.0), 1e-6);
  EXPECT_NEAR(dependence[0][1].item<double>(), 81.0 / (2.0 * kImages), 0.01);
  EXPECT_EQ(dependence[1][1].item<double>(), 0.0);
  EXPECT_TRUE(torch::allclose(dependence, dependence.t()));
}

TEST(Untangle, GroupsDimensionsThatDependOnEachOther) {
  // 0-3-5 and 1-4 belong together; 2 is alone.
  torch::Tensor dependence = torch::zeros({6, 6}, kFloat64);
  const auto tie = [&](int64_t a, int64_t b, double strength) {
    dependence[a][b] = strength;
    dependence[b][a] = strength;
  };
  tie(0, 3, 1.0);
  tie(0, 5, 0.8);
  tie(3, 5, 0.7);
  tie(1, 4, 0.9);
  const auto blocks = group_dimensions(dependence, {3, 2, 1});
  const auto block = [&](size_t i) {
    return std::set<int64_t>(blocks[i].begin(), blocks[i].end());
  };
  EXPECT_EQ(block(0), (std::set<int64_t>{0, 3, 5}));
  EXPECT_EQ(block(1), (std::set<int64_t>{1, 4}));
  EXPECT_EQ(block(2), (std::set<int64_t>{2}));
}

}  // namespace
}  // namespace facet
