// Intervals and agreements of raters against published examples and against values that
// tests/scripts/survey_reference.py computes from the definitions. Tolerances are those of sums of
// a few float64 terms.
#include "facet/eval/rating_agreement.h"

#include <gtest/gtest.h>

namespace facet {
namespace {

constexpr double kExact = 1e-12;

/// Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": three coders, fifteen units.
const Ratings& krippendorff_example() {
  static const Ratings ratings = {{-1, -1, -1, -1, -1, 3, 4, 1, 2, 1, 1, 3, 3, -1, 3},
                                  {1, -1, 2, 1, 3, 3, 4, 3, -1, -1, -1, -1, -1, -1, -1},
                                  {-1, -1, 2, 1, 3, 4, 4, -1, 2, 1, 1, 3, 3, -1, 4}};
  return ratings;
}

TEST(Wilson, EndsAreThoseOfTheReference) {
  const auto expect = [](int64_t right, int64_t count, double low, double high) {
    const Interval interval = wilson_interval(right, count);
    EXPECT_NEAR(interval.low, low, kExact);
    EXPECT_NEAR(interval.high, high, kExact);
  };
  expect(0, 10, 0, 0.27753279986288926);
  expect(10, 10, 0.7224672001371107, 1);
  expect(81, 100, 0.7222115462093563, 0.8748524849023126);
  expect(7, 9, 0.4525889691069889, 0.9367748928821532);
}

TEST(Bootstrap, DrawsWholeItems) {
  const std::vector<ItemAnswers> items = {{1, 3}, {3, 3}, {2, 3}, {0, 2}, {3, 3}, {2, 2}, {1, 1}};
  const Interval interval = bootstrap_interval(items, 1);
  EXPECT_NEAR(interval.low, 0.4208204334365325, kExact);
  EXPECT_NEAR(interval.high, 0.9444444444444444, kExact);
  const Interval few = bootstrap_interval(items, 5, 100);
  EXPECT_NEAR(few.low, 0.37058823529411766, kExact);
  EXPECT_NEAR(few.high, 0.9394301470588234, kExact);
  const Interval certain = bootstrap_interval({{4, 4}, {4, 4}}, 1);
  EXPECT_EQ(certain.low, 1);
  EXPECT_EQ(certain.high, 1);
}

TEST(RawAgreement, CountsPairsOfAnswers) {
  EXPECT_NEAR(*raw_agreement(krippendorff_example()), 0.75, kExact);
  EXPECT_FALSE(raw_agreement({{0, 1, -1}, {-1, -1, 2}}));
  EXPECT_FALSE(raw_agreement({}));
}

TEST(CohenKappa, IsThatOfTheTextbookAndOfTheReference) {
  // 20, 5, 10 and 15 of 50 decisions.
  std::vector<int> first, second;
  for (const auto& [a, b, count] :
       {std::tuple{1, 1, 20}, std::tuple{1, 0, 5}, std::tuple{0, 1, 10}, std::tuple{0, 0, 15}})
    for (int i = 0; i < count; ++i) {
      first.push_back(a);
      second.push_back(b);
    }
  EXPECT_NEAR(*cohen_kappa(first, second), 0.4, kExact);
  const Ratings& coders = krippendorff_example();
  EXPECT_NEAR(*cohen_kappa(coders[0], coders[1]), 0.5, kExact);
  EXPECT_NEAR(*cohen_kappa(coders[0], coders[2]), 2.0 / 3, kExact);
  EXPECT_NEAR(*cohen_kappa(coders[1], coders[2]), 0.736842105263158, kExact);
  const MeanKappa mean = mean_kappa(coders);
  EXPECT_EQ(mean.pairs, 3);
  EXPECT_NEAR(*mean.value, (0.5 + 2.0 / 3 + 0.736842105263158) / 3, kExact);
}

TEST(CohenKappa, IsNotDefinedWhereChanceAloneAgreesOnAll) {
  EXPECT_FALSE(cohen_kappa({1, 1, 1}, {1, 1, 1}));
  EXPECT_FALSE(cohen_kappa({1, -1}, {-1, 1}));
  EXPECT_NEAR(*cohen_kappa({1, 1, 1}, {0, 0, 0}), 0, kExact);
  EXPECT_FALSE(mean_kappa({{1, 1}, {1, 1}}).value);
  EXPECT_EQ(mean_kappa({{1, 1}, {1, 1}, {0, 1}}).pairs, 2);
}

TEST(KrippendorffAlpha, IsThatOfThePublishedExample) {
  EXPECT_NEAR(*krippendorff_alpha(krippendorff_example()), 0.691358024691358, kExact);
}

TEST(KrippendorffAlpha, IsOneForEqualAnswersAndNotDefinedForOneAnswer) {
  EXPECT_NEAR(*krippendorff_alpha({{0, 1, 2, 1}, {0, 1, 2, 1}, {0, 1, 2, -1}}), 1, kExact);
  EXPECT_FALSE(krippendorff_alpha({{1, 1}, {1, 1}}));
  EXPECT_FALSE(krippendorff_alpha({{1, 0}}));
}

}  // namespace
}  // namespace facet
