#include "facet/prior/exact_fit.h"

#include <cmath>
#include <numbers>

#include "facet/core/torch.h"
#include "facet/prior/data_pass.h"

namespace facet {

namespace {

/// Images as they are meant: in float64, shifted and scaled.
FactorData prepared(const FactorData& data, torch::Tensor mean, torch::Tensor variance,
                    torch::Tensor labels) {
  mean = mean.to(kFloat64);
  if (data.shift.defined()) mean = (mean - data.shift) * data.scale_by;
  return {{mean, variance.defined() ? variance.to(kFloat64) : variance}, labels, data.scale};
}

FactorStatistics device_statistics(const FactorPosterior& posterior, const FactorData& data) {
  const torch::Tensor like = posterior.components.alpha;
  FactorStatistics sums{torch::zeros_like(posterior.counts), torch::zeros_like(like),
                        torch::zeros_like(like)};
  for_slices(data, posterior.counts.size(0), [&](const FactorData& part) {
    const FactorStatistics own = statistics(part.block, e_step(part.block, posterior, part.labels));
    sums.counts += own.counts;
    sums.first += own.first;
    sums.second += own.second;
  });
  return sums;
}

/// The summed entropy of q(z) of all images; that of points is left out.
double entropy(const BlockEncoding& block) {
  if (!block.variance.defined()) return 0;
  const double constant = std::log(2.0 * std::numbers::pi * std::numbers::e);
  double sum = 0;
  for (const torch::Tensor& part : block.variance.split(int64_t{1} << 16))
    sum += 0.5 * (torch::log(part.to(kFloat64)) + constant).sum().item<double>();
  return sum;
}

/// The images' part of the bound, not scaled.
double device_bound(const FactorPosterior& posterior, const FactorData& data) {
  double sum = 0;
  for_slices(data, posterior.counts.size(0), [&](const FactorData& part) {
    const FactorTerms terms = factor_terms(part.block, posterior, part.labels);
    sum -= (terms.kl_z + terms.kl_r).sum().item<double>();
  });
  return sum;
}

}  // namespace

FactorData FactorData::slice(int64_t begin, int64_t count) const {
  const auto part = [&](const torch::Tensor& all) {
    return all.defined() ? all.narrow(0, begin, count) : all;
  };
  return prepared(*this, part(block.mean), part(block.variance), part(labels));
}

FactorData FactorData::random_part(int64_t count) const {
  const auto part = [&](int64_t rows) {
    if (!random_rows.defined()) return slice(0, rows);
    const torch::Tensor chosen = random_rows.narrow(0, 0, rows);
    const auto select = [&](const torch::Tensor& all) {
      return all.defined() ? all.index_select(0, chosen) : all;
    };
    return prepared(*this, select(block.mean), select(block.variance), select(labels));
  };
  const int64_t available = random_rows.defined() ? random_rows.size(0) : images();
  FactorData some = part(std::min(count, available));
  some.scale *= static_cast<double>(images()) / static_cast<double>(some.images());
  return some;
}

void exact_update(FactorPosterior& posterior, const FactorData& data,
                  const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  const FactorStatistics sums = data.block.mean.is_cpu() ? pass_over(posterior, data).statistics
                                                         : device_statistics(posterior, data);
  posterior.assign(conjugate_posterior(sums, data.scale, hyperprior));
}

double factor_bound(const FactorPosterior& posterior, const FactorData& data,
                    const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  const double sum = data.block.mean.is_cpu()
                         ? pass_over(posterior, data).bound + entropy(data.block)
                         : device_bound(posterior, data);
  const HyperpriorKl kl = hyperprior_kl(posterior.parameters(), hyperprior);
  return data.scale * sum - (kl.components.sum() + kl.weights).item<double>();
}

}  // namespace facet
