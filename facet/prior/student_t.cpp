#include "facet/prior/student_t.h"

#include <cmath>
#include <numbers>

#include "facet/core/torch.h"

namespace facet {

torch::Tensor squared_scale(const NormalGamma& q) { return (q.s + 1.0) / q.s * q.b / q.a; }

StudentT::StudentT(const NormalGamma& q)
    : centre(q.m), spread(2.0 * q.a * squared_scale(q)), power(q.a + 0.5) {
  constant = (torch::lgamma(power) - torch::lgamma(q.a) - 0.5 * torch::log(spread) -
              0.5 * std::log(std::numbers::pi))
                 .sum(1);
}

torch::Tensor student_t_log_density(const torch::Tensor& z, const StudentT& q) {
  torch::Tensor density = q.constant.expand({z.size(0), q.constant.size(0)}).clone();  // [B, K]
  // One dimension at a time: the sum over d does not factor into a matrix product.
  for (int64_t d = 0; d < z.size(1); ++d) {
    const torch::Tensor offset = z.select(1, d).unsqueeze(1) - q.centre.select(1, d);  // [B, K]
    density -= q.power.select(1, d) * torch::log1p(offset.square() / q.spread.select(1, d));
  }
  return density;
}

torch::Tensor student_t_sample(const Key& key, const NormalGamma& q) {
  const auto generator = key.fold("gamma").generator(q.m.device());
  // t = N(0, 1) / sqrt(G / a) with G ~ Gamma(a, 1) has 2a degrees of freedom. For a component
  // without data a is near 0.01 and G underflows to zero: the floor keeps such draws finite.
  const torch::Tensor gamma = at::_standard_gamma(q.a, generator).clamp_min(1e-12 * q.a);
  const torch::Tensor normal = standard_normal(key.fold("normal"), q.m.sizes(), q.m.options());
  return q.m + torch::sqrt(squared_scale(q)) * normal / torch::sqrt(gamma / q.a);
}

}  // namespace facet
