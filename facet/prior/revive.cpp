#include "facet/prior/revive.h"

#include <algorithm>

#include "facet/core/torch.h"

namespace facet {

namespace {

/// A component with fewer images than this is not split.
constexpr double fewest_images_to_split = 20.0;
/// The distance of each half from the old mean, in standard deviations of the component and over
/// all dimensions together: it costs half a nat per image for any D. Half a standard deviation in
/// every dimension would cost 8 nats at D = 64, and another component would take the images.
constexpr double step_size = 1.0;

}  // namespace

int64_t revive_dead_components(const Key& key, FactorPosterior& posterior,
                               const Hyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  const torch::Device device = posterior.counts.device();
  NormalGamma mean = posterior.mean();
  for (torch::Tensor* numbers : {&mean.m, &mean.s, &mean.a, &mean.b})
    *numbers = numbers->to(torch::kCPU, kFloat64, false, /*copy=*/true).contiguous();
  torch::Tensor counts =
      posterior.counts.to(torch::kCPU, kFloat64, false, /*copy=*/true).contiguous();
  const int64_t components = counts.size(0);
  double* const count = counts.data_ptr<double>();
  int64_t revived = 0;
  for (int64_t dead = 0; dead < components; ++dead) {
    if (count[dead] - hyperprior.c0 > 1.0) continue;
    const int64_t heavy = std::max_element(count, count + components) - count;
    if (count[heavy] - hyperprior.c0 < fewest_images_to_split) break;
    torch::Tensor direction = standard_normal(key.fold(static_cast<uint64_t>(dead)),
                                              mean.m[heavy].sizes(), mean.m.options());
    direction /= direction.norm();
    const torch::Tensor step = step_size * direction * (mean.b[heavy] / mean.a[heavy]).sqrt();
    const torch::Tensor centre = mean.m[heavy].clone();
    // Each half gets half of what s, a and c have beyond the hyperprior, and the same variance b /
    // a.
    const torch::Tensor variance = mean.b[heavy] / mean.a[heavy];
    const torch::Tensor s = hyperprior.s0 + 0.5 * (mean.s[heavy] - hyperprior.s0);
    const torch::Tensor a = hyperprior.a0 + 0.5 * (mean.a[heavy] - hyperprior.a0);
    const double c = hyperprior.c0 + 0.5 * (count[heavy] - hyperprior.c0);
    const auto place = [&](int64_t component, const torch::Tensor& m) {
      mean.m[component].copy_(m);
      mean.s[component].copy_(s);
      mean.a[component].copy_(a);
      mean.b[component].copy_(a * variance);
      count[component] = c;
    };
    place(heavy, centre - step);
    place(dead, centre + step);
    ++revived;
  }
  if (revived > 0) posterior = FactorPosterior::from_mean(mean, counts).to(device);
  return revived;
}

}  // namespace facet
