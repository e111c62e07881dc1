#include "facet/ops/latent.h"

#include "facet/core/torch.h"
#include "facet/ops/dispatch.h"

namespace facet::ops {

std::pair<torch::Tensor, torch::Tensor> split_encoding(const torch::Tensor& head, double lowest,
                                                       double highest) {
  if (kernel_computes(head, kFloat32)) return cuda::split_encoding(head, lowest, highest);
  const auto halves = head.chunk(2, 1);
  return {halves[0], halves[1].clamp(lowest, highest)};
}

torch::Tensor sample_latent(const torch::Tensor& mean, const torch::Tensor& log_variance,
                            const Key& noise) {
  if (kernel_computes(mean, kFloat32) && !noise.has_rows())
    return cuda::sample_latent(mean, log_variance, noise.value(), noise.counter());
  return mean +
         torch::exp(0.5 * log_variance) * standard_normal(noise, mean.sizes(), mean.options());
}

LatentDraw draw_encoding(const torch::Tensor& head, double lowest, double highest,
                         const Key& noise) {
  if (kernel_computes(head, kFloat32) && !noise.has_rows())
    return cuda::draw_encoding(head, lowest, highest, noise.value(), noise.counter());
  const auto [mean, log_variance] = split_encoding(head, lowest, highest);
  return {mean, log_variance, sample_latent(mean, log_variance, noise)};
}

torch::Tensor standard_normal_kl(const torch::Tensor& mean, const torch::Tensor& log_variance) {
  if (kernel_computes(mean, kFloat32)) return cuda::standard_normal_kl(mean, log_variance);
  return 0.5 * (mean.square() + torch::exp(log_variance) - 1.0 - log_variance).sum(1);
}

}  // namespace facet::ops
