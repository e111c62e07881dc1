// A change of latent coordinates changes what z means and nothing else.
#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/model/vae.h"

namespace facet {
namespace {

TEST(ChangeCoordinates, KeepsDecodedImagesAndTransformsTheEncodersMean) {
  torch::NoGradGuard no_gradient;
  ModelOptions options;
  options.network = {"custom", {8, 8}, {2, 2}, 3};
  options.factors = {{"one", 3, 2}, {"two", 3, 3}};
  Vae model(options, {1, 12, 12}, Key(1));
  const auto doubles = torch::TensorOptions().dtype(kFloat64);
  const torch::Tensor x = uniform(Key(2), {7, 1, 12, 12}, {});
  const torch::Tensor z = standard_normal(Key(3), {7, 5}, doubles);
  const Encoding before = model.encode(x);
  const torch::Tensor decoded = model.decode(z);

  const Coordinates coordinates{
      standard_normal(Key(4), {5, 5}, doubles) + 3 * torch::eye(5, doubles),
      standard_normal(Key(5), {5}, doubles)};
  const torch::Tensor log_variance = torch::linspace(-2, 1, 5);
  model.change_coordinates(coordinates, log_variance);
  const auto transformed = [&](const torch::Tensor& points) {
    return (points.to(kFloat64) - coordinates.centre).matmul(coordinates.transform.t());
  };
  const Encoding after = model.encode(x);
  // The networks are float32, and their weights went through one more matrix product.
  EXPECT_TRUE(torch::allclose(model.decode(transformed(z)), decoded, 1e-3, 1e-4));
  EXPECT_TRUE(torch::allclose(after.mean.to(kFloat64), transformed(before.mean), 1e-3, 1e-4));
  EXPECT_TRUE(torch::allclose(after.log_variance, log_variance.expand({7, 5}), 1e-5, 1e-5));
}

}  // namespace
}  // namespace facet
