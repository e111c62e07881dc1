// The latent vector by the kernels of latent.h, as differentiable functions on float32 tensors. The
// reference is ops/latent.cpp.
#pragma once

#include <cstdint>
#include <utility>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// Mean, log variance and z, [B, Z] each.
struct LatentDraw {
  torch::Tensor mean, log_variance, z;
};

/// The encoder's head [B, 2Z] as mean and log variance, the latter clamped between two bounds.
std::pair<torch::Tensor, torch::Tensor> split_encoding(const torch::Tensor& head, double lowest,
                                                       double highest);
/// The same with z = mean + sigma noise, where the noise is standard_normal of key and counter.
LatentDraw draw_encoding(const torch::Tensor& head, double lowest, double highest, uint64_t key,
                         const torch::Tensor& counter);
/// z = mean + exp(log_variance / 2) noise, [B, Z].
torch::Tensor sample_latent(const torch::Tensor& mean, const torch::Tensor& log_variance,
                            uint64_t key, const torch::Tensor& counter);
/// KL(N(mean, exp(log_variance)) || N(0, I)), [B].
torch::Tensor standard_normal_kl(const torch::Tensor& mean, const torch::Tensor& log_variance);

}  // namespace facet::cuda
