#include "facet/core/random.h"

#include <set>

#include <gtest/gtest.h>

#include "facet/core/torch.h"

namespace facet {
namespace {

const auto kDoubles = torch::TensorOptions().dtype(kFloat64);

TEST(Key, TheSameKeyDrawsTheSameNumbers) {
  const Key key(7);
  EXPECT_TRUE(torch::equal(standard_normal(key, {1000}, kDoubles),
                           standard_normal(Key(7), {1000}, kDoubles)));
  EXPECT_TRUE(torch::equal(uniform(key, {1000}, kDoubles), uniform(key, {1000}, kDoubles)));
  EXPECT_TRUE(torch::equal(permutation(key, 1000), permutation(key, 1000)));
}

TEST(Key, DrawsNeitherUseNorAdvanceTheGlobalGenerator) {
  const Key key(7);
  torch::manual_seed(1);
  const torch::Tensor before = standard_normal(key, {100}, kDoubles);
  const torch::Tensor global = torch::randn({100});
  torch::manual_seed(1);
  EXPECT_TRUE(torch::equal(torch::randn({100}), global));
  EXPECT_TRUE(torch::equal(standard_normal(key, {100}, kDoubles), before));
}

TEST(Key, FoldsAndSeedsDiffer) {
  std::set<uint64_t> values;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    values.insert(Key(seed).value());
    values.insert(Key(seed).fold("noise").value());
    values.insert(Key(seed).fold("order").value());
    for (uint64_t step = 0; step < 30; ++step) values.insert(Key(seed).fold(step).value());
  }
  EXPECT_EQ(values.size(), 30u * 33u);
  EXPECT_NE(Key(1).fold(1).fold(2).value(), Key(1).fold(2).fold(1).value());
  EXPECT_EQ(Key(1).fold("noise").value(), Key(1).fold("noise").value());
}

TEST(Key, AStepNumberInATensorGivesTheSameKeyAsTheNumber) {
  const Key key = Key(3).fold("joint");
  torch::Tensor step = torch::full({}, 41, kInt64);
  const Key counted = key.at(step);
  step += 1;
  EXPECT_EQ(counted.value(), key.fold(41).value()) << "the counter's value when at() was called";
  EXPECT_EQ(key.at(step).value(), key.fold(42).value());
  EXPECT_EQ(key.at(step).fold("noise").value(), key.fold(42).fold("noise").value());
}

TEST(Key, NeighbouringStepsAreUncorrelated) {
  const Key key(3);
  const int64_t count = 40000;
  const torch::Tensor one = standard_normal(key.fold(1), {count}, kDoubles);
  for (const Key& other : {key.fold(2), key.fold("noise"), Key(4).fold(1)}) {
    const double correlation =
        (one * standard_normal(other, {count}, kDoubles)).mean().item<double>();
    EXPECT_LT(std::abs(correlation), 5.0 / std::sqrt(count));  // five standard errors
  }
}

TEST(Key, NumbersDoNotDependOnTheNumberOfThreads) {
  const int threads = torch::get_num_threads();
  torch::set_num_threads(1);
  const torch::Tensor normal = standard_normal(Key(5), {100000}, kFloat32);
  const torch::Tensor order = permutation(Key(5), 100000);
  torch::set_num_threads(4);
  EXPECT_TRUE(torch::equal(standard_normal(Key(5), {100000}, kFloat32), normal));
  EXPECT_TRUE(torch::equal(permutation(Key(5), 100000), order));
  torch::set_num_threads(threads);
}

TEST(Key, NormalDrawsHaveTheMomentsOfTheNormal) {
  const int64_t count = 200000;
  const double root = std::sqrt(static_cast<double>(count));
  for (const auto type : {kFloat32, kFloat64}) {
    const torch::Tensor x = standard_normal(Key(11), {count}, type).to(kFloat64);
    // Five standard errors of each moment: Var[x^k] is 1, 2, 15 and 96 for k = 1 to 4.
    EXPECT_NEAR(x.mean().item<double>(), 0, 5 * 1.0 / root);
    EXPECT_NEAR(x.square().mean().item<double>(), 1, 5 * std::sqrt(2.0) / root);
    EXPECT_NEAR(x.pow(3).mean().item<double>(), 0, 5 * std::sqrt(15.0) / root);
    EXPECT_NEAR(x.pow(4).mean().item<double>(), 3, 5 * std::sqrt(96.0) / root);
  }
}

TEST(Key, UniformDrawsFillTheUnitInterval) {
  const torch::Tensor x = uniform(Key(12), {200000}, kDoubles);
  EXPECT_GE(x.min().item<double>(), 0.0);
  EXPECT_LT(x.max().item<double>(), 1.0);
  EXPECT_NEAR(x.mean().item<double>(), 0.5, 5 * std::sqrt(1.0 / 12 / 200000));
  EXPECT_NEAR(x.square().mean().item<double>(), 1.0 / 3, 5 * std::sqrt(4.0 / 45 / 200000));
}

TEST(Key, APermutationHoldsEveryIndexOnce) {
  const torch::Tensor order = permutation(Key(13), 1000);
  EXPECT_TRUE(torch::equal(std::get<0>(order.sort()), torch::arange(1000)));
  EXPECT_FALSE(torch::equal(order, torch::arange(1000)));
}

}  // namespace
}  // namespace facet
