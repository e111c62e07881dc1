// The importance-weighted bound: with many draws it is the evidence, which can be integrated
// numerically for a latent space of one dimension; and a random subset of the images estimates it.
#include "facet/eval/importance.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/eval/bounds.h"
#include "tests/close.h"

namespace facet {
namespace {

/// A model with a one-dimensional latent space and three components.
Vae narrow_model() {
  ModelOptions options;
  options.network = {.preset = "custom", .channels = {4, 6}, .strides = {1, 2}, .kernel = 3};
  options.factors = {{"only", 3, 1}};
  Vae model(options, {1, 8, 8}, Key(1));
  model.prior.posteriors[0] = random_posterior(Key(2), 3, 1);
  return model;
}

torch::Tensor random_pixels(int64_t count) {
  return uniform(Key(3), {count, 1, 8, 8}, kFloat32).mul(255).to(kUInt8);
}

/// log of the integral of p(x|z) p(z) over z, by the trapezoidal rule, [N].
torch::Tensor evidence(Vae& model, const torch::Tensor& pixels) {
  torch::NoGradGuard no_gradient;
  const double low = -60, high = 60;
  const int64_t points = 24'001;
  const torch::Tensor z = torch::linspace(low, high, points, kFloat64).unsqueeze(1);
  const torch::Tensor output = model.decode(z);
  const torch::Tensor prior = predictive_log_density(z, model.prior.posteriors[0]);
  std::vector<torch::Tensor> sums;
  for (const torch::Tensor& image : pixels.split(1)) {
    const torch::Tensor x = model.likelihood().from_pixels(image).expand_as(output);
    const torch::Tensor density = model.likelihood().log_density(x, output).to(kFloat64);
    sums.push_back(torch::logsumexp(density + prior, 0));
  }
  return torch::stack(sums) + std::log((high - low) / static_cast<double>(points - 1));
}

TEST(Importance, ManyDrawsGiveTheEvidence) {
  Vae model = narrow_model();
  const torch::Tensor pixels = random_pixels(5);
  const torch::Tensor truth = evidence(model, pixels);
  // More draws than are decoded at once, and not a multiple of that number.
  const torch::Tensor many = importance_bounds(model, pixels, 20'011, Key(4));
  const torch::Tensor one = importance_bounds(model, pixels, 1, Key(4));
  // With this many draws the error is below a tenth of a nat; with one it is far larger.
  EXPECT_LT((many - truth).abs().max().item<double>(), 0.1);
  EXPECT_GT((one - truth).abs().max().item<double>(), 0.5);
}

TEST(Importance, ARandomSubsetEstimatesTheBoundOfAllImages) {
  Vae model = narrow_model();
  ImageSet set;
  set.pixels = random_pixels(400);
  set.pixels.slice(0, 200).fill_(0);  // sorted, as some test files are
  set.labels = torch::empty({400, 0}, kInt64);
  EvaluationOptions options;
  options.importance = 50;
  options.samples = 50;  // a single draw is noisy in an untrained model
  const Evaluation whole = evaluate(model, set, {}, "test", options);
  EXPECT_EQ(whole.importance_images, 400);
  options.importance_images = 100;
  const Evaluation subset = evaluate(model, set, {}, "test", options);
  EXPECT_EQ(subset.importance_images, 100);
  EXPECT_EQ(subset.count, 400);
  EXPECT_EQ(subset.elbo, whole.elbo);
  EXPECT_NE(*subset.importance_bound, *whole.importance_bound);
  // Black and random images have very different bounds: the mean bound of a hundred images alone
  // would have this standard error.
  const double subset_error = 2 * *whole.importance_standard_error;
  EXPECT_NEAR(*subset.importance_bound, *whole.importance_bound, 0.5 * subset_error);
  EXPECT_GE(*subset.importance_standard_error, subset.standard_error);
  EXPECT_LT(*subset.importance_standard_error, subset_error);
}

}  // namespace
}  // namespace facet
