// Temperatures are found again from labels drawn at them, and reliability says what it should.
#include "facet/eval/calibration.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"

namespace facet {
namespace {

/// Log probabilities of `count` images, and labels drawn from them at a temperature.
struct Drawn {
  torch::Tensor log_probabilities, labels;
};
Drawn drawn_at(double temperature, int64_t count) {
  const torch::Tensor scores = 3.0 * standard_normal(Key(1), {count, 4}, kFloat64);
  const torch::Tensor log_probabilities = torch::log_softmax(scores, 1);
  const torch::Tensor cumulated = at_temperature(log_probabilities, temperature).cumsum(1);
  const torch::Tensor draw = uniform(Key(2), {count, 1}, kFloat64);
  return {log_probabilities, cumulated.lt(draw).sum(1).clamp_max(3)};
}

TEST(Temperature, IsFoundFromLabelsDrawnAtIt) {
  for (const double temperature : {0.5, 1.0, 3.0}) {
    const auto [log_probabilities, labels] = drawn_at(temperature, 20000);
    EXPECT_NEAR(fit_temperature(log_probabilities, labels) / temperature, 1.0, 0.03);
  }
}

TEST(Temperature, IsOneWithoutLabelsAndNearOneWithFew) {
  const auto [log_probabilities, labels] = drawn_at(10.0, 3);
  EXPECT_EQ(fit_temperature(log_probabilities, torch::full_like(labels, -1)), 1.0);
  const double few = fit_temperature(log_probabilities, labels);
  EXPECT_GT(few, 0.5);
  EXPECT_LT(few, 4.0);
}

TEST(Reliability, OfCalibratedProbabilitiesIsNearlyPerfect) {
  const auto [log_probabilities, labels] = drawn_at(2.0, 30000);
  const Reliability right = reliability(at_temperature(log_probabilities, 2.0), labels);
  EXPECT_LT(right.error, 0.01);
  EXPECT_EQ(right.images, 30000);
  const Reliability too_sure = reliability(log_probabilities.exp(), labels);
  EXPECT_GT(too_sure.error, 0.1);
  EXPECT_NEAR(too_sure.accuracy, right.accuracy, 1e-9) << "a temperature changes no prediction";
  for (const ReliabilityBin& bin : too_sure.bins)
    if (bin.probability > 0.6) {
      EXPECT_LT(bin.accuracy, bin.probability);
    }
}

TEST(Reliability, IsTheMeanDistanceOverBins) {
  // Two bins of 20 images: sure and always right, and 0.6 with one in four right.
  const torch::Tensor sure = torch::tensor({1.0, 0.0}, kFloat64).expand({20, 2});
  const torch::Tensor unsure = torch::tensor({0.4, 0.6}, kFloat64).expand({20, 2});
  torch::Tensor labels = torch::zeros({41}, kInt64);
  labels.narrow(0, 20, 5).fill_(1);
  labels[40] = -1;  // does not count
  const Reliability found = reliability(torch::cat({sure, unsure, unsure.narrow(0, 0, 1)}), labels);
  ASSERT_EQ(found.bins.size(), 2u);
  EXPECT_NEAR(found.bins[0].accuracy, 0.25, 1e-12);
  EXPECT_NEAR(found.bins[1].accuracy, 1.0, 1e-12);
  EXPECT_NEAR(found.error, 0.5 * 0.35, 1e-12);
  EXPECT_NEAR(found.accuracy, 0.625, 1e-12);
}

}  // namespace
}  // namespace facet
