// Sums over the images of a batch: the training loss, and the sums behind a metrics line. Each
// function is one formula in LibTorch's operations, and one launch where our kernels run.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/cuda/sums_ops.h"

namespace facet::ops {

using SummedTerm = cuda::SummedTerm;

/// Minus eq:elbo:a to eq:elbo:c as a mean over the images, one number that gradients flow from:
/// -(reconstruction - kl_weight sum_i kl_z[i] - sum_i kl_r[i]). All are [B], one KL per factor;
/// `kl_r` may be empty. `kl_weight` is one float64 number on their device.
torch::Tensor negative_elbo(const torch::Tensor& reconstruction,
                            const std::vector<torch::Tensor>& kl_z,
                            const std::vector<torch::Tensor>& kl_r, const torch::Tensor& kl_weight);

/// Adds each term to its number in `sums`, float64, in place.
void add_to_sums(const torch::Tensor& sums, const std::vector<SummedTerm>& terms);

}  // namespace facet::ops
