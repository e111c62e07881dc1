// Likelihoods p(x|z): the distribution of a pixel given the decoder's output. To add one, write its
// class in likelihood.cpp and add a line to the table at the end of that file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/model/likelihood_options.h"

namespace facet {

/// x is in the likelihood's own units, [0, 1] or [-1, 1], with the shape [B, C, H, W]; `output` is
/// the decoder's, [B, numbers_per_value * C, H, W].
class Likelihood {
 public:
  virtual ~Likelihood() = default;
  /// The number of decoder outputs per value of a pixel.
  virtual int64_t numbers_per_value() const = 0;
  /// U8 pixels to the likelihood's units, float32.
  virtual torch::Tensor from_pixels(const torch::Tensor& pixels) const = 0;
  /// The inverse, rounded and clamped to 0..255.
  virtual torch::Tensor to_pixels(const torch::Tensor& x) const = 0;
  /// log p(x|z) summed over the image, [B].
  virtual torch::Tensor log_density(const torch::Tensor& x, const torch::Tensor& output) const = 0;
  /// E[x|z], [B, C, H, W].
  virtual torch::Tensor mean(const torch::Tensor& output) const = 0;
  /// Standard deviation of x given z, [B, C, H, W].
  virtual torch::Tensor stddev(const torch::Tensor& output) const = 0;
  /// x ~ p(x|z), [B, C, H, W].
  virtual torch::Tensor sample(const Key& key, const torch::Tensor& output) const = 0;
};

std::vector<std::string> likelihood_names();
std::unique_ptr<Likelihood> make_likelihood(const LikelihoodOptions& options);

}  // namespace facet
