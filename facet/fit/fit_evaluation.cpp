#include "facet/fit/fit_evaluation.h"

#include <algorithm>
#include <cmath>

#include "facet/core/torch.h"
#include "facet/eval/agreement.h"

namespace facet {

namespace {

constexpr int64_t slice_numbers = int64_t{1} << 20;

/// Of one factor over all vectors.
struct FactorMeasures {
  FactorEvaluation evaluation;
  torch::Tensor bound;       ///< of every vector, in its own units, [N]
  torch::Tensor predictive;  ///< likewise
  std::vector<int64_t> codes;
};

FactorMeasures measure_factor(const VectorMixture& mixture, size_t i,
                              const torch::Tensor& vectors) {
  const FactorPosterior& posterior = mixture.mixture.posteriors[i];
  const FactorOptions& factor = mixture.mixture.factors[i];
  const FactorData data = factor_data(mixture, i, vectors);
  const double log_volume = -torch::log(data.scale_by).sum().item<double>();
  const int64_t count = vectors.size(0),
                rows = std::max<int64_t>(1, slice_numbers / factor.components);
  FactorMeasures result{{}, torch::empty({count}, kFloat64), torch::empty({count}, kFloat64), {}};
  torch::Tensor usage = torch::zeros_like(posterior.counts), codes = torch::empty({count}, kInt64);
  double kl_z = 0, kl_r = 0;
  for (int64_t begin = 0; begin < count; begin += rows) {
    const int64_t size = std::min(rows, count - begin);
    const BlockEncoding block = data.slice(begin, size).block;
    const FactorTerms terms = factor_terms(block, posterior, {});
    kl_z += terms.kl_z.sum().item<double>();
    kl_r += terms.kl_r.sum().item<double>();
    usage += terms.responsibilities.sum(0);
    codes.narrow(0, begin, size).copy_(terms.responsibilities.argmax(1));
    result.bound.narrow(0, begin, size).copy_(-terms.kl_z - terms.kl_r - log_volume);
    result.predictive.narrow(0, begin, size)
        .copy_(predictive_log_density(block.mean, posterior) - log_volume);
  }
  const std::vector<double> weights = to_doubles(usage);
  result.codes = to_integers(codes);
  FactorEvaluation& evaluation = result.evaluation;
  evaluation.name = factor.name;
  evaluation.property = factor.property;
  evaluation.components = factor.components;
  evaluation.dimensions = evaluation.active_dimensions = factor.dimensions;
  evaluation.used = std::count_if(weights.begin(), weights.end(), [](double w) { return w > 1.0; });
  evaluation.perplexity = perplexity(weights);
  evaluation.kl_z = kl_z / static_cast<double>(count) + log_volume;
  evaluation.kl_r = kl_r / static_cast<double>(count);
  return result;
}

double standard_error(const torch::Tensor& all) {
  return all.numel() < 2 ? 0.0
                         : all.std().item<double>() / std::sqrt(static_cast<double>(all.numel()));
}

}  // namespace

Evaluation evaluate_mixture(const VectorMixture& mixture, const torch::Tensor& vectors,
                            const VectorLabels& labels, const std::string& name) {
  torch::NoGradGuard no_gradient;
  Evaluation result;
  result.split = name;
  result.count = vectors.size(0);
  torch::Tensor bounds = torch::zeros({result.count}, kFloat64), predictive = bounds.clone();
  std::vector<std::vector<int64_t>> codes;
  for (size_t i = 0; i < mixture.mixture.size(); ++i) {
    FactorMeasures own = measure_factor(mixture, i, vectors);
    result.kl_z += own.evaluation.kl_z;
    result.kl_r += own.evaluation.kl_r;
    bounds += own.bound;
    predictive += own.predictive;
    result.factors.push_back(std::move(own.evaluation));
    codes.push_back(std::move(own.codes));
  }
  result.elbo = bounds.mean().item<double>();
  result.standard_error = standard_error(bounds);
  result.predictive_bound = predictive.mean().item<double>();
  result.predictive_standard_error = standard_error(predictive);
  compare_codes(result, codes, mixture.mixture.factors, labels.labels, labels.properties);
  compare_merged(result, mixture.mixture, codes, labels.labels, labels.properties);
  return result;
}

}  // namespace facet
