// The latent vector of a batch: from the encoder's head to mean, log variance and a draw z, and the
// KL divergence to N(0, I). Gradients flow through all of it. Each function is one formula in
// LibTorch's operations, and a kernel for float32 where our kernels run.
#pragma once

#include <utility>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/cuda/latent_ops.h"

namespace facet::ops {

using LatentDraw = cuda::LatentDraw;

/// The encoder's head [B, 2Z] as mean and log variance [B, Z], the latter clamped between two
/// bounds.
std::pair<torch::Tensor, torch::Tensor> split_encoding(const torch::Tensor& head, double lowest,
                                                       double highest);

/// z = mean + exp(log_variance / 2) noise, [B, Z].
torch::Tensor sample_latent(const torch::Tensor& mean, const torch::Tensor& log_variance,
                            const Key& noise);

/// split_encoding() and sample_latent() in one.
LatentDraw draw_encoding(const torch::Tensor& head, double lowest, double highest,
                         const Key& noise);

/// KL(N(mean, exp(log_variance)) || N(0, I)), [B].
torch::Tensor standard_normal_kl(const torch::Tensor& mean, const torch::Tensor& log_variance);

}  // namespace facet::ops
