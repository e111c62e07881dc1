#include <algorithm>
#include <cmath>

#include "bench/kernel_lab/prior_reference.cuh"

namespace facet::lab {

namespace {

double digamma(double x) {
  long double sum = 0, y = x;
  for (; y < 40; y += 1) sum -= 1 / y;
  const long double z = 1 / (y * y);
  return static_cast<double>(
      sum + std::log(y) - 0.5L / y -
      z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z / 132)))));
}

/// eq:Elogp of component k is constant[k] + sum over d of slope mean - 0.5 precision (mean^2 +
/// variance); weight[k] is E[log pi_k].
struct Coefficients {
  std::vector<double> precision, slope, constant, weight;

  explicit Coefficients(const FactorData& f)
      : precision(f.K * f.D), slope(f.K * f.D), constant(f.K), weight(f.K) {
    const Posterior& p = f.posterior;
    double total = 0;
    for (const double count : p.counts) total += count;
    for (int64_t k = 0; k < f.K; ++k) {
      weight[k] = digamma(p.counts[k]) - digamma(total);
      for (int64_t d = 0; d < f.D; ++d) {
        const int64_t i = k * f.D + d;
        const double s = -2 * p.alpha_mu2[i], m = p.alpha_mu[i] / s, a = p.log_alpha[i] + 0.5,
                     b = -p.alpha[i] - 0.5 * s * m * m;
        precision[i] = a / b;
        slope[i] = m * a / b;
        constant[k] +=
            0.5 * (digamma(a) - std::log(b) - std::log(2 * M_PI) - 1 / s - m * m * a / b);
      }
    }
  }
  double score(int64_t k, const double* mean, const double* variance, int64_t D) const {
    double result = constant[k];
    for (int64_t d = 0; d < D; ++d)
      result += mean[d] * slope[k * D + d] -
                0.5 * (mean[d] * mean[d] + variance[d]) * precision[k * D + d];
    return result;
  }
};

/// Derivatives of eq:Elogp averaged over the components of one image, by mean and by variance.
struct Derivatives {
  std::vector<double> by_mean, by_variance;

  Derivatives(const Coefficients& c, const double* gamma, const double* mean, int64_t K, int64_t D)
      : by_mean(D), by_variance(D) {
    for (int64_t k = 0; k < K; ++k)
      for (int64_t d = 0; d < D; ++d) {
        by_mean[d] += gamma[k] * (c.slope[k * D + d] - mean[d] * c.precision[k * D + d]);
        by_variance[d] -= 0.5 * gamma[k] * c.precision[k * D + d];
      }
  }
};

/// The softmax of one image: its logarithm's normaliser, and the allocation without a label.
double softmax(const std::vector<double>& scores, const std::vector<double>& weight,
               std::vector<double>& allocation) {
  double highest = -INFINITY, sum = 0;
  for (size_t k = 0; k < scores.size(); ++k) highest = std::max(highest, scores[k] + weight[k]);
  for (size_t k = 0; k < scores.size(); ++k) sum += std::exp(scores[k] + weight[k] - highest);
  const double log_sum = highest + std::log(sum);
  for (size_t k = 0; k < scores.size(); ++k)
    allocation[k] = std::exp(scores[k] + weight[k] - log_sum);
  return log_sum;
}

void add_image(const FactorData& f, const Coefficients& c, int64_t b, ExpectedTerms& e) {
  const int64_t K = f.K, D = f.D, label = f.labels[b];
  const double *mean = &f.mean[b * D], *variance = &f.variance[b * D];
  std::vector<double> scores(K), allocation(K);
  for (int64_t k = 0; k < K; ++k) scores[k] = c.score(k, mean, variance, D);
  const double log_sum = softmax(scores, c.weight, allocation);
  std::vector<double> gamma = allocation;
  if (label >= 0)
    for (int64_t k = 0; k < K; ++k) gamma[k] = k == label;

  double kl_z = 0, kl_r = 0;
  for (int64_t k = 0; k < K; ++k) {
    kl_z -= gamma[k] * scores[k];
    if (gamma[k] > 0) kl_r += gamma[k] * (std::log(gamma[k]) - c.weight[k]);
  }
  const Derivatives own(c, gamma.data(), mean, K, D), free(c, allocation.data(), mean, K, D);
  for (int64_t d = 0; d < D; ++d) {
    kl_z -= 0.5 * (f.log_variance[b * D + d] + std::log(2 * M_PI) + 1);
    e.kl_mean.push_back(-own.by_mean[d]);
    e.kl_spread.push_back(-variance[d] * own.by_variance[d] - 0.5);
    e.label_mean.push_back(own.by_mean[d] - free.by_mean[d]);
    e.label_spread.push_back(variance[d] * (own.by_variance[d] - free.by_variance[d]));
  }
  e.gamma.insert(e.gamma.end(), gamma.begin(), gamma.end());
  e.kl_z.push_back(kl_z);
  e.kl_r.push_back(kl_r);
  e.label.push_back(label >= 0 ? scores[label] + c.weight[label] - log_sum : 0);
}

}  // namespace

ExpectedTerms expected_terms(const FactorData& factor) {
  ExpectedTerms expected;
  const Coefficients coefficients(factor);
  for (int64_t b = 0; b < factor.B; ++b) add_image(factor, coefficients, b, expected);
  return expected;
}

Posterior expected_update(const FactorData& f, const std::vector<double>& gamma, double scale,
                          double rho) {
  const Hyperprior& prior = f.hyperprior;
  std::vector<double> counts(f.K), first(f.K * f.D), second(f.K * f.D);
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t k = 0; k < f.K; ++k) {
      const double g = gamma[b * f.K + k];
      counts[k] += g;
      for (int64_t d = 0; g > 0 && d < f.D; ++d) {
        const double mean = f.mean[b * f.D + d];
        first[k * f.D + d] += g * mean;
        second[k * f.D + d] += g * (mean * mean + f.variance[b * f.D + d]);
      }
    }
  const auto step = [&](double& from, double to) { from += rho * (to - from); };
  Posterior result = f.posterior;
  for (int64_t k = 0; k < f.K; ++k) {
    const double count = scale * counts[k];
    step(result.counts[k], prior.c0 + count);
    for (int64_t d = 0; d < f.D; ++d) {
      const int64_t i = k * f.D + d;
      const double m0 = prior.m0[d], s0 = prior.s0[d];
      step(result.log_alpha[i], prior.a0[d] + 0.5 * count - 0.5);
      step(result.alpha[i], -(prior.b0[d] + 0.5 * s0 * m0 * m0 + 0.5 * scale * second[i]));
      step(result.alpha_mu[i], s0 * m0 + scale * first[i]);
      step(result.alpha_mu2[i], -0.5 * (s0 + count));
    }
  }
  return result;
}

}  // namespace facet::lab
