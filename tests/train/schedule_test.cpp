#include "facet/train/schedule.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/json.h"

namespace facet {
namespace {

TEST(Schedule, LinearGoesFromStartToEndAndThenIsConstant) {
  const Schedule schedule{2.0, 1.0, 10, "linear"};
  EXPECT_DOUBLE_EQ(schedule.at(0, 1000), 2.0);
  EXPECT_DOUBLE_EQ(schedule.at(4, 1000), 1.6);
  EXPECT_DOUBLE_EQ(schedule.at(10, 1000), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(999, 1000), 1.0);
}

TEST(Schedule, CosineIsHalfAWave) {
  const Schedule schedule{1.0, 0.0, 8, "cosine"};
  EXPECT_DOUBLE_EQ(schedule.at(0, 1000), 1.0);
  EXPECT_NEAR(schedule.at(2, 1000), 0.5 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_NEAR(schedule.at(4, 1000), 0.5, 1e-15);
  EXPECT_NEAR(schedule.at(8, 1000), 0.0, 1e-15);
  EXPECT_NEAR(schedule.at(500, 1000), 0.0, 1e-15);
}

TEST(Schedule, ZeroStepsMeansTheWholeLength) {
  const Schedule schedule{0.0, 1.0, 0, "linear"};
  EXPECT_DOUBLE_EQ(schedule.at(25, 100), 0.25);
  EXPECT_DOUBLE_EQ(schedule.at(100, 100), 1.0);
  EXPECT_TRUE(std::isfinite(schedule.at(0, 0))) << "a phase without steps";
}

TEST(StepSize, ScaledFormStartsAtRho0) {
  const StepSize size{"scaled", 0.01, 2000, 0.7};
  EXPECT_DOUBLE_EQ(size.at(0), 0.01);
  EXPECT_DOUBLE_EQ(size.at(2000), 0.01 * std::pow(2.0, -0.7));
  EXPECT_DOUBLE_EQ(size.at(14000), 0.01 * std::pow(8.0, -0.7));
}

TEST(StepSize, PlainFormIsThatOfThePaper) {
  const StepSize size{"plain", 0.01, 256, 0.5};
  EXPECT_DOUBLE_EQ(size.at(0), 1.0 / 16);
  EXPECT_DOUBLE_EQ(size.at(768), 1.0 / 32);
}

TEST(StepSize, DecreasesAndStaysBetweenZeroAndOne) {
  for (const char* form : {"scaled", "plain"}) {
    const StepSize size{form, 0.5, 10, 0.9};
    double last = 1.0;
    for (int64_t step = 0; step < 10000; step += 100) {
      EXPECT_LT(size.at(step), last);
      EXPECT_GT(size.at(step), 0.0);
      last = size.at(step);
    }
  }
}

TEST(StepSize, UnknownFormsAndValuesOutOfRangeAreErrors) {
  StepSize size;
  EXPECT_THROW(read_options(size, Json{{"form", "other"}}, "test"), Error);
  EXPECT_THROW(read_options(size, Json{{"rho0", 1.5}}, "test"), Error);
  EXPECT_THROW(read_options(size, Json{{"kappa", -0.1}}, "test"), Error);
  EXPECT_THROW(read_options(size, Json{{"tau0", 0}}, "test"), Error);
}

}  // namespace
}  // namespace facet
