#include "facet/fit/vector_mixture.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/data/array_file.h"
#include "facet/prior/data_pass.h"
#include "facet/prior/sampling.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

/// Of vectors in float64.
constexpr double kLargestNumber = 1e150;

/// Calls `work` with the vectors in slices of which nothing of size [n, K] is large.
template <class Work>
void for_rows(const torch::Tensor& vectors, int64_t components, const Work& work) {
  const int64_t rows = std::max<int64_t>(1, (int64_t{1} << 20) / components);
  for (int64_t begin = 0; begin < vectors.size(0); begin += rows)
    work(begin, std::min(rows, vectors.size(0) - begin));
}

torch::Tensor block_of(const VectorMixture& mixture, size_t factor, const torch::Tensor& all) {
  return all.narrow(-1, mixture.mixture.block_begin(factor),
                    mixture.mixture.factors[factor].dimensions);
}

NormalGamma in_units(const NormalGamma& standard, const torch::Tensor& shift,
                     const torch::Tensor& scale) {
  return {standard.m * scale + shift, standard.s, standard.a, standard.b * scale.square()};
}

}  // namespace

double VectorMixture::log_volume() const { return torch::log(scale).sum().item<double>(); }

FactorData factor_data(const VectorMixture& mixture, size_t factor, const torch::Tensor& vectors,
                       const torch::Tensor& labels) {
  FactorData data{{block_of(mixture, factor, vectors)}, labels};
  data.shift = block_of(mixture, factor, mixture.shift);
  data.scale_by = 1.0 / block_of(mixture, factor, mixture.scale);
  return data;
}

NormalGamma components_of(const VectorMixture& mixture, size_t factor) {
  return in_units(mixture.mixture.posteriors[factor].mean(),
                  block_of(mixture, factor, mixture.shift),
                  block_of(mixture, factor, mixture.scale));
}

NormalGamma hyperprior_of(const VectorMixture& mixture, size_t factor) {
  return in_units(mixture.mixture.hyperpriors[factor].components,
                  block_of(mixture, factor, mixture.shift),
                  block_of(mixture, factor, mixture.scale));
}

torch::Tensor predict_probabilities(const VectorMixture& mixture, size_t factor,
                                    const torch::Tensor& vectors) {
  torch::NoGradGuard no_gradient;
  const FactorData data = factor_data(mixture, factor, vectors);
  const FactorPosterior& posterior = mixture.mixture.posteriors[factor];
  std::vector<torch::Tensor> parts;
  for_rows(vectors, posterior.counts.size(0), [&](int64_t begin, int64_t count) {
    parts.push_back(e_step(data.slice(begin, count).block, posterior, {}));
  });
  return torch::cat(parts);
}

Prediction predict(const VectorMixture& mixture, const torch::Tensor& vectors) {
  torch::NoGradGuard no_gradient;
  const int64_t count = vectors.size(0);
  const auto factors = static_cast<int64_t>(mixture.mixture.size());
  Prediction result{torch::empty({count, factors}, kInt64),
                    torch::empty({count, factors}, kFloat64),
                    torch::full({count}, -mixture.log_volume(), kFloat64)};
  for (size_t i = 0; i < mixture.mixture.size(); ++i) {
    const FactorData data = factor_data(mixture, i, vectors);
    const FactorPosterior& posterior = mixture.mixture.posteriors[i];
    const auto column = static_cast<int64_t>(i);
    result.usage.push_back(torch::zeros_like(posterior.counts));
    for_rows(vectors, posterior.counts.size(0), [&](int64_t begin, int64_t rows) {
      const BlockEncoding block = data.slice(begin, rows).block;
      const torch::Tensor gamma = e_step(block, posterior, {});
      const auto [probability, component] = gamma.max(1);
      result.components.select(1, column).narrow(0, begin, rows).copy_(component);
      result.probabilities.select(1, column).narrow(0, begin, rows).copy_(probability);
      result.log_density.narrow(0, begin, rows) += predictive_log_density(block.mean, posterior);
      result.usage.back() += gamma.sum(0);
    });
  }
  return result;
}

torch::Tensor log_density(const VectorMixture& mixture, const torch::Tensor& vectors) {
  return predict(mixture, vectors).log_density;
}

torch::Tensor sample_vectors(const Key& key, const VectorMixture& mixture, int64_t count) {
  return sample_latents(key, mixture.mixture, count).z * mixture.scale + mixture.shift;
}

double vector_bound(const VectorMixture& mixture, const torch::Tensor& vectors,
                    const torch::Tensor& labels) {
  double bound = -static_cast<double>(vectors.size(0)) * mixture.log_volume();
  for (size_t i = 0; i < mixture.mixture.size(); ++i)
    bound += factor_bound(mixture.mixture.posteriors[i],
                          factor_data(mixture, i, vectors, labels_of_factor(labels, i)),
                          mixture.mixture.hyperpriors[i]);
  return bound;
}

void require_finite_vectors(const torch::Tensor& vectors, const std::string& object) {
  const Place place = first_not_finite(vectors);
  if (!place.found()) {
    if (vectors.scalar_type() != kFloat64 || vectors.numel() == 0) return;
    const double largest = std::max(vectors.max().item<double>(), -vectors.min().item<double>());
    if (largest > kLargestNumber)
      Attempt{"reading vectors", object}.fail(
          fmt::format("a number of size {:.3g}", largest),
          fmt::format("at most {:.0e}, so that sums of squares are finite", kLargestNumber));
    return;
  }
  Attempt{"reading vectors", object}.fail(
      fmt::format("{} in row {}, column {}, counted from 0",
                  vectors[place.row][place.column].item<double>(), place.row, place.column),
      "finite numbers");
}

void require_vectors(const VectorMixture& mixture, const torch::Tensor& vectors,
                     const std::string& object) {
  if (vectors.size(1) != mixture.mixture.dimensions())
    Attempt{"reading vectors", object}.fail(
        fmt::format("{} dimensions", vectors.size(1)),
        fmt::format("{}, as in the run", mixture.mixture.dimensions()));
  require_finite_vectors(vectors, object);
}

}  // namespace facet
