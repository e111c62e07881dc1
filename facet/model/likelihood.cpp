#include "facet/model/likelihood.h"

#include <functional>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/ops/likelihood.h"

namespace facet {

namespace {

torch::Tensor rounded_pixels(const torch::Tensor& unit) {
  return unit.mul(255).round().clamp(0, 255).to(kUInt8);
}

/// Black or white pixels: the output is a logit. A grey value in [0, 1] is a probability of white,
/// and its log density is the expected one.
class Bernoulli : public Likelihood {
 public:
  int64_t numbers_per_value() const override { return 1; }
  torch::Tensor from_pixels(const torch::Tensor& pixels) const override {
    return ops::from_pixels(pixels, 1.0 / 255.0, 0.0);
  }
  torch::Tensor to_pixels(const torch::Tensor& x) const override { return rounded_pixels(x); }
  torch::Tensor log_density(const torch::Tensor& x, const torch::Tensor& output) const override {
    return ops::bernoulli_log_density(x, output);
  }
  torch::Tensor mean(const torch::Tensor& output) const override { return torch::sigmoid(output); }
  torch::Tensor stddev(const torch::Tensor& output) const override {
    const torch::Tensor p = mean(output);
    return torch::sqrt(p * (1 - p));
  }
  torch::Tensor sample(const Key& key, const torch::Tensor& output) const override {
    return uniform(key, output.sizes(), output.options()).lt(mean(output)).to(output.dtype());
  }
};

/// Values scaled to [-1, 1]: the output has a mean and, through a scaled sigmoid, a standard
/// deviation between two bounds, for every channel of every pixel.
class Gaussian : public Likelihood {
 public:
  explicit Gaussian(const LikelihoodOptions& options)
      : minimum_(options.minimum_stddev), maximum_(options.maximum_stddev) {
    if (minimum_ >= maximum_)
      throw Error({.doing = "building the likelihood",
                   .object = "gaussian",
                   .found = fmt::format("standard deviations from {} to {}", minimum_, maximum_),
                   .expected = "a minimum below the maximum"});
  }
  int64_t numbers_per_value() const override { return 2; }
  torch::Tensor from_pixels(const torch::Tensor& pixels) const override {
    return ops::from_pixels(pixels, 2.0 / 255.0, -1.0);
  }
  torch::Tensor to_pixels(const torch::Tensor& x) const override {
    return rounded_pixels((x + 1.0) * 0.5);
  }
  torch::Tensor log_density(const torch::Tensor& x, const torch::Tensor& output) const override {
    return ops::gaussian_log_density(x, output, minimum_, maximum_);
  }
  torch::Tensor mean(const torch::Tensor& output) const override { return output.chunk(2, 1)[0]; }
  torch::Tensor stddev(const torch::Tensor& output) const override {
    return ops::gaussian_stddev(output, minimum_, maximum_);
  }
  torch::Tensor sample(const Key& key, const torch::Tensor& output) const override {
    const torch::Tensor centre = mean(output);
    return centre + stddev(output) * standard_normal(key, centre.sizes(), centre.options());
  }

 private:
  double minimum_, maximum_;
};

struct Entry {
  const char* name;
  std::function<std::unique_ptr<Likelihood>(const LikelihoodOptions&)> make;
};
const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {"bernoulli", [](const auto&) { return std::make_unique<Bernoulli>(); }},
      {"gaussian", [](const auto& options) { return std::make_unique<Gaussian>(options); }},
  };
  return all;
}

}  // namespace

std::vector<std::string> likelihood_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.push_back(entry.name);
  return names;
}

std::unique_ptr<Likelihood> make_likelihood(const LikelihoodOptions& options) {
  for (const Entry& entry : entries())
    if (options.kind == entry.name) return entry.make(options);
  throw Error({.doing = "building the likelihood",
               .object = options.kind,
               .found = "an unknown kind",
               .expected = "a known one",
               .cause = suggest(options.kind, likelihood_names())});
}

void LikelihoodOptions::visit(OptionVisitor& visitor) {
  visitor.renamed("minimum_deviation", "minimum_stddev");
  visitor.renamed("maximum_deviation", "maximum_stddev");
  visitor.option("kind", kind, "Distribution of a pixel given the latent vector.",
                 one_of(likelihood_names()));
  visitor.option("minimum_stddev", minimum_stddev,
                 "For 'gaussian': smallest standard deviation of a pixel, which is in [-1, 1].",
                 at_least(1e-6));
  visitor.option("maximum_stddev", maximum_stddev,
                 "For 'gaussian': largest standard deviation of a pixel.", at_least(1e-6));
}

}  // namespace facet
