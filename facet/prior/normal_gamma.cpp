#include "facet/prior/normal_gamma.h"

#include <cmath>
#include <numbers>

#include "facet/core/torch.h"

namespace facet {

NaturalNormalGamma to_natural(const NormalGamma& q) {
  return {q.a - 0.5, -(q.b + 0.5 * q.s * q.m * q.m), q.s * q.m, -0.5 * q.s};
}

NormalGamma to_mean(const NaturalNormalGamma& natural) {
  const torch::Tensor s = -2.0 * natural.alpha_mu2;
  const torch::Tensor m = natural.alpha_mu / s;
  return {m, s, natural.log_alpha + 0.5, -natural.alpha - 0.5 * s * m * m};
}

NormalGammaMoments moments(const NormalGamma& q) {
  const torch::Tensor alpha = q.a / q.b;
  return {torch::digamma(q.a) - torch::log(q.b), alpha, q.m * alpha, 1.0 / q.s + q.m * q.m * alpha};
}

torch::Tensor log_normaliser(const NaturalNormalGamma& natural) {
  const NormalGamma q = to_mean(natural);
  return torch::lgamma(q.a) - q.a * torch::log(q.b) - 0.5 * torch::log(q.s) +
         0.5 * std::log(2.0 * std::numbers::pi);
}

torch::Tensor kl_divergence(const NormalGamma& q, const NormalGamma& p) {
  const torch::Tensor ratio = q.a / q.b;
  const torch::Tensor normal = 0.5 * (p.s * ratio * (q.m - p.m).square() + p.s / q.s -
                                      (torch::log(p.s) - torch::log(q.s)) - 1.0);
  const torch::Tensor gamma = p.a * (torch::log(q.b) - torch::log(p.b)) -
                              (torch::lgamma(q.a) - torch::lgamma(p.a)) +
                              (q.a - p.a) * torch::digamma(q.a) - (q.b - p.b) * ratio;
  return normal + gamma;
}

}  // namespace facet
