// Scatter plots with ellipses, and the views of a mixture that are drawn as such.
#include "facet/report/scatter.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/fit/fit_mixture.h"
#include "facet/report/fit_views.h"
#include "tests/close.h"
#include "tests/contains.h"

namespace facet {
namespace {

TEST(Scatter, DrawsEveryPointAndEllipseAndEscapesTitles) {
  Scatter scatter;
  scatter.title = "a < b";
  scatter.x_title = "x & y";
  scatter.points = {{0, 0, 0}, {1, 2, 1}, {3, -1, 9}};
  scatter.ellipses = {{0, 0, 1, 0.5, 1, 0}, {1, 1, 0, 0, 0, 1}};
  const std::string svg = scatter_svg(scatter);
  EXPECT_EQ(count_of(svg, "<circle"), 3u);
  EXPECT_EQ(count_of(svg, "class=\"line\""), 2u);
  EXPECT_EQ(svg.find("a < b"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos) << "an ellipse without extent is a point";
}

TEST(Scatter, OfNothingIsStillADrawing) {
  EXPECT_EQ(scatter_svg({}).find("nan"), std::string::npos);
}

TEST(FitViews, ShowLivingComponentsOnTheWidestAxes) {
  // Wide in the third column, then in the first; the second is narrow.
  const torch::Tensor noise = normal64(Key(1), {600, 3});
  const torch::Tensor centre = 40.0 * torch::arange(600).remainder(2).to(kFloat64);
  torch::Tensor vectors = noise.clone();
  vectors.select(1, 2) += centre;
  vectors.select(1, 0) += 0.9 * centre;
  FitConfig config;
  FactorOptions factor;
  factor.name = "all";
  factor.components = 6;
  factor.dimensions = 3;
  config.factors = {factor};
  const FitResult fit = fit_mixture(config, {vectors});
  const auto views = factor_views(fit.mixture, 0, vectors, 3);
  ASSERT_EQ(views.size(), 1u) << "three dimensions have one pair of axes";
  EXPECT_EQ(views[0].points.size(), 600u);
  ASSERT_EQ(views[0].ellipses.size(), 2u) << "two clusters live";
  EXPECT_GT(std::abs(views[0].ellipses[0].x - views[0].ellipses[1].x), 2.0)
      << "the first axis tells them apart";
  EXPECT_LT(std::abs(views[0].ellipses[0].y - views[0].ellipses[1].y), 0.5);
  // In standard units with two columns that agree, the first axis has two thirds of the variance.
  EXPECT_NE(views[0].x_title.find("67 %"), std::string::npos) << views[0].x_title;
}

TEST(FitViews, MissNoClusterOfVectorsThatComeInTurns) {
  const torch::Tensor cluster = torch::arange(3500).remainder(7);
  const torch::Tensor vectors =
      20.0 * normal64(Key(2), {7, 2}).index_select(0, cluster) + 0.1 * normal64(Key(3), {3500, 2});
  FitConfig config;
  FactorOptions factor;
  factor.name = "all";
  factor.components = 7;
  factor.dimensions = 2;
  config.factors = {factor};
  const auto views = factor_views(fit_mixture(config, {vectors}).mixture, 0, vectors, 1);
  std::vector<size_t> seen(7, 0);
  for (const ScatterPoint& point : views[0].points) ++seen[point.group];
  for (const size_t count : seen) EXPECT_GT(count, 100u);
}

}  // namespace
}  // namespace facet
