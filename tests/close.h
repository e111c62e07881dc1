// Shared by the tests of the prior and of everything built on it: comparing tensors within a
// tolerance, and making posteriors that look like trained ones.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

/// Whether |actual - expected| <= relative |expected| + absolute everywhere; false for NaN. The
/// message names the worst element.
inline testing::AssertionResult close(const torch::Tensor& actual, const torch::Tensor& expected,
                                      double relative, double absolute = 0) {
  if (actual.sizes() != expected.sizes())
    return testing::AssertionFailure()
           << "shape " << actual.sizes() << ", expected " << expected.sizes();
  if (actual.numel() == 0) return testing::AssertionFailure() << "nothing to compare";
  const torch::Tensor a = actual.detach().to(kFloat64).flatten();
  const torch::Tensor e = expected.detach().to(kFloat64).flatten();
  const torch::Tensor excess = (a - e).abs() - (relative * e.abs() + absolute);
  if (excess.le(0).all().item<bool>()) return testing::AssertionSuccess();
  const auto worst = excess.nan_to_num(1e300).argmax().item<int64_t>();
  return testing::AssertionFailure()
         << "element " << worst << " is " << a[worst].item<double>() << ", expected "
         << e[worst].item<double>() << ", off by " << (a - e)[worst].item<double>();
}

/// Standard normal numbers in float64.
inline torch::Tensor normal64(const Key& key, torch::IntArrayRef shape) {
  return standard_normal(key, shape, kFloat64);
}

/// A float64 scalar, such as a step's weights.
inline torch::Tensor number(double value) { return torch::full({}, value, kFloat64); }

inline torch::Tensor int64_tensor(const std::vector<int64_t>& values) {
  return torch::tensor(values, kInt64);
}

/// With numbers that are not the defaults.
inline const Hyperprior kHyperprior{.m0 = 0.2, .s0 = 1.3, .a0 = 0.7, .b0 = 0.4, .c0 = 1.1};

/// Encodings with standard normal means and variances around 1/2, both [B, D].
inline BlockEncoding random_block(const Key& key, int64_t images, int64_t dimensions) {
  return {normal64(key.fold("mean"), {images, dimensions}),
          0.5 * torch::exp(0.5 * normal64(key.fold("variance"), {images, dimensions}))};
}

/// A posterior whose parameters differ in every component and dimension.
inline FactorPosterior random_posterior(const Key& key, int64_t components, int64_t dimensions) {
  const auto positive = [&](const char* purpose, double scale) {
    return scale * torch::exp(0.5 * normal64(key.fold(purpose), {components, dimensions}));
  };
  const torch::Tensor a = positive("a", 8);
  return FactorPosterior::from_mean({1.5 * normal64(key.fold("m"), {components, dimensions}),
                                     positive("s", 15), a, a * positive("variance", 0.7)},
                                    20 * torch::exp(0.5 * normal64(key.fold("c"), {components})));
}

}  // namespace facet
