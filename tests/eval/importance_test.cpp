// The importance-weighted bound: with many draws it is the evidence, which a latent space of one
// dimension lets us integrate; and it may be taken over a random part of the images.
#include "facet/eval/importance.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/eval/bounds.h"
#include "tests/close.h"

namespace facet {
namespace {

/// A latent vector of one number, which changes what is decoded, under three components.
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
  // More than are decoded at once, and no multiple of it.
  const torch::Tensor many = importance_bounds(model, pixels, 20'011, Key(4));
  const torch::Tensor one = importance_bounds(model, pixels, 1, Key(4));
  // So many draws leave an error below a tenth of a nat; a single one misses far more.
  EXPECT_LT((many - truth).abs().max().item<double>(), 0.1);
  EXPECT_GT((one - truth).abs().max().item<double>(), 0.5);
}

TEST(Importance, APartOfTheImagesTellsTheGainOfAll) {
  Vae model = narrow_model();
  ImageSet set;
  set.pixels = random_pixels(400);
  set.pixels.narrow(0, 0, 200).fill_(0);  // sorted, as some test files are
  set.labels = torch::empty({400, 0}, kInt64);
  EvaluationOptions options;
  options.importance = 50;
  options.samples = 50;  // a single draw is noisy in a model that was not trained
  const Evaluation whole = evaluate(model, set, {}, "test", options);
  EXPECT_EQ(whole.importance_images, 400);
  options.importance_images = 100;
  const Evaluation part = evaluate(model, set, {}, "test", options);
  EXPECT_EQ(part.importance_images, 100);
  EXPECT_EQ(part.count, 400);
  EXPECT_EQ(part.elbo, whole.elbo);
  EXPECT_NE(*part.importance_bound, *whole.importance_bound);
  // Black images are far from random ones; a hundred images by themselves would be this far off.
  const double by_themselves = 2 * *whole.importance_standard_error;
  EXPECT_NEAR(*part.importance_bound, *whole.importance_bound, 0.5 * by_themselves);
  EXPECT_GE(*part.importance_standard_error, part.standard_error);
  EXPECT_LT(*part.importance_standard_error, by_themselves);
}

}  // namespace
}  // namespace facet
