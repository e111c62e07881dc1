#include "facet/ops/likelihood.h"

#include <cmath>
#include <numbers>

#include "facet/core/torch.h"
#include "facet/cuda/likelihood_ops.h"
#include "facet/ops/dispatch.h"

namespace facet::ops {

torch::Tensor from_pixels(const torch::Tensor& pixels, double scale, double shift) {
  if (kernel_computes(pixels, kUInt8)) return cuda::from_pixels(pixels, scale, shift);
  const torch::Tensor x = pixels.to(kFloat32).mul_(scale);
  return shift == 0 ? x : x.add_(shift);
}

torch::Tensor bernoulli_log_density(const torch::Tensor& x, const torch::Tensor& output) {
  if (kernel_computes(output, kFloat32)) return cuda::bernoulli_log_density(x, output);
  return -torch::binary_cross_entropy_with_logits(output, x, {}, {}, at::Reduction::None)
              .flatten(1)
              .sum(1);
}

torch::Tensor gaussian_log_density(const torch::Tensor& x, const torch::Tensor& output,
                                   double smallest_stddev, double largest_stddev) {
  if (kernel_computes(output, kFloat32))
    return cuda::gaussian_log_density(x, output, smallest_stddev, largest_stddev);
  const torch::Tensor stddev = gaussian_stddev(output, smallest_stddev, largest_stddev);
  const torch::Tensor scaled = (x - output.chunk(2, 1)[0]) / stddev;
  return -(0.5 * scaled.square() + torch::log(stddev) + 0.5 * std::log(2.0 * std::numbers::pi))
              .flatten(1)
              .sum(1);
}

torch::Tensor gaussian_stddev(const torch::Tensor& output, double smallest_stddev,
                              double largest_stddev) {
  return smallest_stddev +
         (largest_stddev - smallest_stddev) * torch::sigmoid(output.chunk(2, 1)[1]);
}

}  // namespace facet::ops
