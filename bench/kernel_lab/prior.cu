// The prior's kernels against the plain code of prior_reference.cuh: terms, derivatives, gradient
// and update, from float32 encodings and from float64 ones, and the same bits twice.
#include <cstring>

#include "bench/kernel_lab/lab.cuh"
#include "bench/kernel_lab/prior_reference.cuh"
#include "facet/cuda/prior.h"

namespace facet::lab {

namespace {

using cuda::Encodings;

constexpr double scale = 7.5, rho = 0.3;

struct FactorSize {
  int64_t components, dimensions;
  bool labelled;
};

std::vector<int64_t> some_labels(int64_t images, int64_t values, bool labelled) {
  std::vector<int64_t> labels;
  for (int64_t b = 0; b < images; ++b)
    labels.push_back(labelled && b % 3 == 1 ? (b * 5) % values : -1);
  return labels;
}

Posterior random_posterior(Lab& lab, int64_t K, int64_t D) {
  const auto m = lab.normals<double>(K * D), s = lab.uniforms<double>(K * D, 0.5, 30),
             a = lab.uniforms<double>(K * D, 0.01, 25), b = lab.uniforms<double>(K * D, 0.5, 10);
  Posterior p;
  p.counts = lab.uniforms<double>(K, 0.05, 50);
  for (int64_t i = 0; i < K * D; ++i) {
    p.log_alpha.push_back(a[i] - 0.5);
    p.alpha.push_back(-(b[i] + 0.5 * s[i] * m[i] * m[i]));
    p.alpha_mu.push_back(s[i] * m[i]);
    p.alpha_mu2.push_back(-0.5 * s[i]);
  }
  return p;
}

Hyperprior random_hyperprior(Lab& lab, int64_t D) {
  return {lab.normals<double>(D), lab.uniforms<double>(D, 0.5, 3), lab.uniforms<double>(D, 0.01, 2),
          lab.uniforms<double>(D, 0.01, 2), 0.7};
}

/// One factor on the GPU with all the memory that its kernels use.
struct Factor {
  FactorData data;
  int64_t begin;  ///< its first column of the encodings
  bool labelled;
  Buffer<double> log_alpha, alpha, alpha_mu, alpha_mu2, counts;
  Buffer<double> m0, s0, a0, b0, c0;
  Buffer<double> log_normal, log_weights, tile_sums, responsibilities, kl_z, kl_r, label,
      coefficients, partials;
  Buffer<unsigned> tickets;
  Buffer<int64_t> labels;

  Factor(FactorData of, int64_t first_column, bool with_labels)
      : data(std::move(of)),
        begin(first_column),
        labelled(with_labels),
        log_alpha(data.posterior.log_alpha),
        alpha(data.posterior.alpha),
        alpha_mu(data.posterior.alpha_mu),
        alpha_mu2(data.posterior.alpha_mu2),
        counts(data.posterior.counts),
        m0(data.hyperprior.m0),
        s0(data.hyperprior.s0),
        a0(data.hyperprior.a0),
        b0(data.hyperprior.b0),
        c0(std::vector<double>{data.hyperprior.c0}),
        log_normal(data.B * data.K),
        log_weights(data.K),
        tile_sums(cuda::tile_numbers(data.B, data.K)),
        responsibilities(data.B * data.K),
        kl_z(data.B),
        kl_r(data.B),
        label(data.B),
        coefficients(2 * data.K * data.D),
        partials(std::max<int64_t>(1, cuda::partial_numbers(data.B, data.K, data.D))),
        tickets(cuda::ticket_numbers(data.B)),
        labels(data.labels) {}

  void reset() {
    log_alpha.set(data.posterior.log_alpha), alpha.set(data.posterior.alpha);
    alpha_mu.set(data.posterior.alpha_mu), alpha_mu2.set(data.posterior.alpha_mu2);
    counts.set(data.posterior.counts);
  }
  double posterior_error(const Posterior& e) const {
    return std::max({error(log_alpha.host(), e.log_alpha), error(alpha.host(), e.alpha),
                     error(alpha_mu.host(), e.alpha_mu), error(alpha_mu2.host(), e.alpha_mu2),
                     error(counts.host(), e.counts)});
  }
  /// Without encodings and derivatives.
  cuda::PriorFactor pointers() const {
    cuda::PriorFactor factor = {};
    factor.components = data.K, factor.dimensions = data.D;
    factor.log_alpha = log_alpha, factor.alpha = alpha, factor.alpha_mu = alpha_mu;
    factor.alpha_mu2 = alpha_mu2, factor.counts = counts;
    factor.m0 = m0, factor.s0 = s0, factor.a0 = a0, factor.b0 = b0, factor.c0 = c0;
    factor.labels = labelled ? labels.get() : nullptr, factor.labels_stride = 1;
    factor.log_normal = log_normal, factor.log_weights = log_weights;
    factor.tile_sums = tile_sums, factor.partials = partials, factor.tickets = tickets;
    factor.responsibilities = responsibilities;
    factor.kl_z = kl_z, factor.kl_r = kl_r, factor.label_log_likelihood = label;
    return factor;
  }
};

/// All factors of a model with one batch of encodings, [B, Z], and their derivatives.
class PriorLab {
 public:
  PriorLab(Lab& lab, const std::string& name, int64_t images, const std::vector<FactorSize>& sizes);
  void check_terms();
  void check_gradient();
  void check_same_bits();
  void check_update();
  void check_float64();
  void time();

 private:
  FactorData factor_data(const FactorSize& size, int64_t begin);
  void report_update(const char* what, double allowed);
  cuda::NaturalStep step(const double* step_size) const { return {scale, step_size}; }
  /// Cuts a factor's columns out of a [B, Z] result.
  std::vector<float> columns(const Factor& f, const Buffer<float>& all) const;

  Lab& lab_;
  std::string name_;
  int64_t images_, latents_;
  std::vector<float> host_means_, host_spreads_;
  Buffer<float> means_, spreads_;                                  ///< encodings, [B, Z]
  Buffer<float> kl_mean_, kl_spread_, label_mean_, label_spread_;  ///< derivatives of the terms
  Buffer<float> by_mean_, by_spread_;                              ///< gradients of the encodings
  Buffer<double> rho_{std::vector<double>{rho}};
  std::vector<Factor> factors_;
  std::vector<ExpectedTerms> expected_;
  std::vector<Posterior> updated_;
  cuda::PriorBatch batch_ = {};     ///< terms with derivatives
  cuda::PriorBatch no_terms_ = {};  ///< an update alone
};

int64_t total_dimensions(const std::vector<FactorSize>& sizes) {
  int64_t total = 0;
  for (const FactorSize& size : sizes) total += size.dimensions;
  return total;
}

PriorLab::PriorLab(Lab& lab, const std::string& name, int64_t images,
                   const std::vector<FactorSize>& sizes)
    : lab_(lab),
      name_(name),
      images_(images),
      latents_(total_dimensions(sizes)),
      host_means_(lab.normals<float>(images * latents_)),
      host_spreads_(lab.normals<float>(images * latents_, 0.7, -1.5)),
      means_(host_means_),
      spreads_(host_spreads_),
      kl_mean_(images * latents_),
      kl_spread_(images * latents_),
      label_mean_(images * latents_),
      label_spread_(images * latents_),
      by_mean_(images * latents_),
      by_spread_(images * latents_) {
  batch_.count = static_cast<int>(sizes.size()), batch_.images = images;
  int64_t begin = 0;
  factors_.reserve(sizes.size());
  for (const FactorSize& size : sizes) {
    factors_.emplace_back(factor_data(size, begin), begin, size.labelled);
    const Factor& f = factors_.back();
    expected_.push_back(expected_terms(f.data));
    updated_.push_back(expected_update(f.data, expected_.back().gamma, scale, rho));
    cuda::PriorFactor& factor = batch_.factor[factors_.size() - 1] = f.pointers();
    factor.mean = means_ + begin, factor.spread = spreads_ + begin, factor.row = latents_;
    factor.kl_mean = kl_mean_ + begin, factor.kl_spread = kl_spread_ + begin;
    factor.label_mean = label_mean_ + begin, factor.label_spread = label_spread_ + begin;
    factor.coefficients = f.coefficients;
    begin += size.dimensions;
  }
  no_terms_ = batch_;
  for (cuda::PriorFactor& factor : no_terms_.factor) {
    factor.responsibilities = nullptr;
    factor.kl_z = factor.kl_r = factor.label_log_likelihood = nullptr;
    factor.kl_mean = factor.kl_spread = factor.label_mean = factor.label_spread = nullptr;
    factor.coefficients = factor.partials = nullptr;
    factor.tickets = nullptr;
  }
}

FactorData PriorLab::factor_data(const FactorSize& size, int64_t begin) {
  FactorData f{images_,
               size.components,
               size.dimensions,
               {},
               {},
               {},
               some_labels(images_, size.components, size.labelled),
               random_posterior(lab_, size.components, size.dimensions),
               random_hyperprior(lab_, size.dimensions)};
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t d = 0; d < f.D; ++d) {
      const size_t at = static_cast<size_t>(b * latents_ + begin + d);
      f.mean.push_back(host_means_[at]);
      f.log_variance.push_back(host_spreads_[at]);
      f.variance.push_back(std::exp(static_cast<double>(host_spreads_[at])));
    }
  return f;
}

std::vector<float> PriorLab::columns(const Factor& f, const Buffer<float>& of) const {
  const std::vector<float> whole = of.host();
  std::vector<float> own;
  for (int64_t b = 0; b < images_; ++b)
    for (int64_t d = 0; d < f.data.D; ++d) own.push_back(whole[b * latents_ + f.begin + d]);
  return own;
}

void PriorLab::check_terms() {
  cuda::prior_terms(batch_, Encodings::log_variances, lab_.stream());
  lab_.wait();
  double gamma = 0, kl = 0, label = 0, by_kl = 0, by_label = 0;
  for (size_t i = 0; i < factors_.size(); ++i) {
    const Factor& f = factors_[i];
    const ExpectedTerms& e = expected_[i];
    gamma = std::max(gamma, error(f.responsibilities.host(), e.gamma));
    kl = std::max({kl, error(f.kl_z.host(), e.kl_z), error(f.kl_r.host(), e.kl_r)});
    label = std::max(label, error(f.label.host(), e.label));
    by_kl = std::max({by_kl, error(columns(f, kl_mean_), e.kl_mean),
                      error(columns(f, kl_spread_), e.kl_spread)});
    by_label = std::max({by_label, error(columns(f, label_mean_), e.label_mean),
                         error(columns(f, label_spread_), e.label_spread)});
  }
  // The variance is rounded to float32 once, as in the plain code: 1e-7 of the scores' large terms.
  lab_.report(name_ + ": responsibilities", gamma, 1e-5);
  lab_.report(name_ + ": KL", kl, 1e-6);
  lab_.report(name_ + ": label's log likelihood", label, 1e-5);
  lab_.report(name_ + ": derivatives of KL[z]", by_kl, 2e-5);
  lab_.report(name_ + ": derivatives of the label's", by_label, 2e-5);
}

void PriorLab::check_gradient() {
  const auto of_kl = lab_.normals<double>(images_), of_label = lab_.normals<double>(images_);
  const Buffer<double> d_of_kl(of_kl), d_of_label(of_label);
  cuda::TermGradients gradient = {};
  for (size_t i = 0; i < factors_.size(); ++i) {
    gradient.kl_z[i] = d_of_kl, gradient.label[i] = d_of_label;
    gradient.kl_z_stride[i] = gradient.label_stride[i] = 1;
    gradient.mean[i] = by_mean_ + factors_[i].begin;
    gradient.spread[i] = by_spread_ + factors_[i].begin;
  }
  cuda::prior_terms_gradient(batch_, gradient, lab_.stream());
  lab_.wait();
  double worst = 0;
  for (size_t i = 0; i < factors_.size(); ++i) {
    const Factor& f = factors_[i];
    const ExpectedTerms& e = expected_[i];
    std::vector<double> mean, spread;
    for (int64_t j = 0; j < f.data.B * f.data.D; ++j) {
      const double kl = of_kl[j / f.data.D], label = of_label[j / f.data.D];
      mean.push_back(kl * e.kl_mean[j] + label * e.label_mean[j]);
      spread.push_back(kl * e.kl_spread[j] + label * e.label_spread[j]);
    }
    worst =
        std::max({worst, error(columns(f, by_mean_), mean), error(columns(f, by_spread_), spread)});
  }
  lab_.report(name_ + ": gradient", worst, 2e-5);
  lab_.time(name_ + ": gradient",
            [&](cudaStream_t stream) { cuda::prior_terms_gradient(batch_, gradient, stream); });
}

void PriorLab::check_same_bits() {
  const auto once = factors_.back().responsibilities.host();
  const auto once_kl = kl_mean_.host();
  cuda::prior_terms(batch_, Encodings::log_variances, lab_.stream());
  lab_.wait();
  const auto twice = factors_.back().responsibilities.host();
  const auto twice_kl = kl_mean_.host();
  lab_.report(name_ + ": the same bits twice",
              std::memcmp(once.data(), twice.data(), once.size() * sizeof(double)) == 0 &&
                  std::memcmp(once_kl.data(), twice_kl.data(), once_kl.size() * 4) == 0);
}

void PriorLab::report_update(const char* what, double allowed) {
  double worst = 0;
  for (size_t i = 0; i < factors_.size(); ++i)
    worst = std::max(worst, factors_[i].posterior_error(updated_[i]));
  lab_.report(name_ + what, worst, allowed);
  for (Factor& f : factors_) f.reset();
}

void PriorLab::check_update() {
  cuda::prior_update(no_terms_, Encodings::log_variances, step(rho_), lab_.stream());
  lab_.wait();
  report_update(": update", 1e-5);
}

void PriorLab::check_float64() {
  std::vector<Buffer<double>> encodings;
  cuda::PriorBatch batch = batch_;  // terms without derivatives
  for (size_t i = 0; i < factors_.size(); ++i) {
    encodings.emplace_back(factors_[i].data.mean);
    encodings.emplace_back(factors_[i].data.variance);
    cuda::PriorFactor& factor = batch.factor[i];
    factor.mean = encodings[2 * i].get(), factor.spread = encodings[2 * i + 1].get();
    factor.row = factors_[i].data.D;
    factor.kl_mean = factor.kl_spread = nullptr;
    factor.coefficients = nullptr;
  }
  cuda::prior_terms(batch, Encodings::variances, lab_.stream());
  cuda::prior_update(batch, Encodings::variances, step(rho_), lab_.stream());
  lab_.wait();
  report_update(": update from float64", 1e-10);
  double kl = 0;
  for (size_t i = 0; i < factors_.size(); ++i)
    kl = std::max({kl, error(factors_[i].kl_z.host(), expected_[i].kl_z),
                   error(factors_[i].kl_r.host(), expected_[i].kl_r)});
  lab_.report(name_ + ": KL from float64", kl, 1e-10);
}

void PriorLab::time() {
  lab_.time(name_ + ": terms with derivatives", [&](cudaStream_t stream) {
    cuda::prior_terms(batch_, Encodings::log_variances, stream);
  });
  // A step of 0, so that a thousand of them leave the posterior as it is.
  const Buffer<double> zero(std::vector<double>{0});
  lab_.time(name_ + ": update", [&](cudaStream_t stream) {
    cuda::prior_update(no_terms_, Encodings::log_variances, step(zero), stream);
  });
}

void check_factors(Lab& lab, const std::string& name, int64_t images,
                   const std::vector<FactorSize>& sizes) {
  PriorLab prior(lab, name, images, sizes);
  prior.check_terms();
  prior.check_gradient();
  prior.check_same_bits();
  prior.check_update();
  prior.check_float64();
  prior.time();
}

}  // namespace

void check_prior(Lab& lab) {
  check_factors(lab, "prior, 3 factors, B 9", 9, {{3, 5, false}, {70, 64, true}, {130, 67, true}});
  check_factors(lab, "prior, B 130, K 33, D 2", 130, {{33, 2, true}});
  check_factors(lab, "prior, B 1, K 1, D 1", 1, {{1, 1, false}});
  check_factors(lab, "prior, K 600 and K 9, B 9", 9, {{600, 7, true}, {9, 3, false}});
  check_factors(lab, "prior, K 2", 64, {{2, 64, false}});
  check_factors(lab, "prior, K 64", 64, {{64, 64, false}});
  check_factors(lab, "prior, K 512", 64, {{512, 64, false}});
  check_factors(lab, "prior, 4 factors of K 64, D 16", 64,
                {{64, 16, false}, {64, 16, false}, {64, 16, false}, {64, 16, false}});
  check_factors(lab, "prior, K 4096", 64, {{4096, 64, false}});
  check_factors(lab, "prior, K 65536", 64, {{65536, 64, false}});
}

}  // namespace facet::lab
