// Which latent dimensions belong together. Pre-training with a N(0, I) prior leaves them in no
// particular order, so cutting z into blocks by position would spread one property over several
// factors. Dimensions that encode the same property depend on each other; here they are grouped by
// pairwise mutual information, so that each factor starts with a property of its own.
#pragma once

#include <vector>

#include <torch/torch.h>

namespace facet {

/// Mutual information of every pair of columns of `values` [N, Z] in nats, estimated on quantile
/// bins, [Z, Z] float64 with a zero diagonal.
torch::Tensor pairwise_dependence(const torch::Tensor& values, int64_t bins = 12);

/// An order of the dimensions, int64 [Z], that fills one block after another: each starts with the
/// most dependent pair that is left and takes the dimension most dependent on it until it is full.
torch::Tensor group_dimensions(const torch::Tensor& dependence, const std::vector<int64_t>& sizes);

}  // namespace facet
