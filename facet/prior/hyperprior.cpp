#include "facet/prior/hyperprior.h"

#include "facet/core/torch.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/prior/weights.h"

namespace facet {

namespace {

/// A learned hyperprior weighs at most this many times as much as a component's images.
constexpr double most_weight = 10.0;
constexpr double least_weight = 1e-3;
constexpr double least_shape = 1e-2;
constexpr double least_count = 1e-2, most_count = 10.0;
constexpr double least_concentration = 1e-2, most_concentration = 1e4;

/// The shape a of a Gamma whose log mean exceeds its mean log by `excess`:
/// ln a - psi(a) = excess, by Newton's method on 1/a (Minka, 2002).
torch::Tensor gamma_shape(const torch::Tensor& excess) {
  torch::Tensor a =
      (3.0 - excess + torch::sqrt((excess - 3.0).square() + 24.0 * excess)) / (12.0 * excess);
  for (int i = 0; i < 5; ++i)
    a = 1.0 / (1.0 / a + (torch::log(a) - torch::digamma(a) - excess) /
                             (a * a * (1.0 / a - torch::polygamma(1, a))));
  return a;
}

}  // namespace

FactorHyperprior::FactorHyperprior(const Hyperprior& numbers, int64_t dimensions,
                                   torch::Device device) {
  const auto options = torch::TensorOptions().dtype(kFloat64).device(device);
  const auto each = [&](double value) { return torch::full({dimensions}, value, options); };
  components = {each(numbers.m0), each(numbers.s0), each(numbers.a0), each(numbers.b0)};
  count = torch::full({}, numbers.c0, options);
}

FactorHyperprior FactorHyperprior::to(torch::Device device) const {
  FactorHyperprior moved = *this;
  for (torch::Tensor* tensor : {&moved.components.m, &moved.components.s, &moved.components.a,
                                &moved.components.b, &moved.count})
    *tensor = tensor->to(device);
  if (concentration.defined()) moved.concentration = concentration.to(device);
  return moved;
}

NamedTensors FactorHyperprior::tensors() const {
  NamedTensors all = {{"m0", components.m},
                      {"s0", components.s},
                      {"a0", components.a},
                      {"b0", components.b},
                      {"c0", count}};
  if (concentration.defined()) all.emplace_back("concentration", concentration);
  return all;
}

void learn_hyperprior(FactorHyperprior& hyperprior, const FactorPosterior& posterior) {
  torch::NoGradGuard no_gradient;
  const NormalGamma q = posterior.mean();
  const torch::Tensor images = posterior.counts - hyperprior.count;
  const torch::Tensor alive = images.gt(1.0).to(kFloat64).unsqueeze(1);  // [K, 1]
  const torch::Tensor living = alive.sum();
  const auto mean = [&](const torch::Tensor& all) {
    return (alive * all).sum(0) / living.clamp_min(1.0);
  };
  const torch::Tensor most =
      most_weight * (images * alive.squeeze(1)).sum() / living.clamp_min(1.0);

  const torch::Tensor precision = q.a / q.b, mean_precision = mean(precision);
  const torch::Tensor m0 = mean(precision * q.m) / mean_precision;
  const torch::Tensor s0 = 1.0 / mean(1.0 / q.s + precision * (q.m - m0).square());
  const torch::Tensor excess =
      torch::log(mean_precision) - mean(torch::digamma(q.a) - torch::log(q.b));
  const torch::Tensor a0 = torch::minimum(
      gamma_shape(excess.clamp_min(1e-9)).clamp_min(least_shape), (0.5 * most).clamp_min(1.0));
  const NormalGamma best = {m0, torch::minimum(s0.clamp_min(least_weight), most.clamp_min(1.0)), a0,
                            a0 / mean_precision};

  // One component tells nothing of how components differ. No branch on the host: the values may be
  // on a GPU.
  const torch::Tensor several = living.ge(2.0);
  const auto replace = [&](torch::Tensor& old, const torch::Tensor& learned) {
    old.copy_(torch::where(several, learned, old));
  };
  replace(hyperprior.components.m, best.m);
  replace(hyperprior.components.s, best.s);
  replace(hyperprior.components.a, best.a);
  replace(hyperprior.components.b, best.b);
  if (hyperprior.concentration.defined())
    replace(hyperprior.concentration, best_concentration(posterior.counts, hyperprior.concentration,
                                                         least_concentration, most_concentration));
  else if (posterior.counts.size(0) > 1)
    replace(hyperprior.count, best_pseudo_count(posterior.counts, least_count, most_count));
}

}  // namespace facet
