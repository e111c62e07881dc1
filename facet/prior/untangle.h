// Coordinates in which properties come apart. Pre-training with a N(0, I) prior leaves each
// property spread over all latent dimensions, and cutting z into blocks by position would give
// every factor a piece of the strongest one. Here the encoder's means are whitened; a named factor
// takes the directions that tell its values apart; the others are rotated until each coordinate
// is as clustered as can be, grouped by what depends on each other, and rotated once more to the
// greatest likelihood under one mixture a block. docs/mathematics.md says why in this order.
#pragma once

#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"

namespace facet {

/// z' = transform (z - centre).
struct Coordinates {
  torch::Tensor transform;  ///< float64 [Z, Z], invertible
  torch::Tensor centre;     ///< float64 [Z]
};

/// What a block of the latent vector is for.
struct BlockPlan {
  int64_t dimensions = 0, components = 0;
  torch::Tensor labels;  ///< of a named factor: int64 [N], -1 unknown; else undefined
};

/// Coordinates of `means` [N, Z] whose first numbers are the first block, and so on. Directions in
/// which the means hardly vary are not scaled up; they fill the last places.
Coordinates untangle(const Key& key, const torch::Tensor& means,
                     const std::vector<BlockPlan>& blocks);

/// A rotation [A, A] after which the columns of `whitened` [N, A] have the least kurtosis in sum:
/// two or more clusters along a line are flatter than a bell, noise and rare events are not.
torch::Tensor clustered_rotation(const torch::Tensor& whitened);

/// Mutual information of every pair of columns of `values` [N, Z] in nats, estimated on quantile
/// bins, [Z, Z] float64 with a zero diagonal.
torch::Tensor pairwise_dependence(const torch::Tensor& values, int64_t bins = 12);

/// Dimensions for blocks of these sizes: a block starts with the dimension that has the strongest
/// partner left and takes the one most dependent on the block until it is full. Blocks end short
/// where dimensions do.
std::vector<std::vector<int64_t>> group_dimensions(const torch::Tensor& dependence,
                                                   const std::vector<int64_t>& sizes);

/// A rotation [A, A], near the identity, which makes the columns of `whitened` [N, A] most likely
/// when block i, the next sizes[i] columns, is a mixture of components[i] diagonal Gaussians and
/// the columns after the last block are N(0, 1). Columns outside a block say nothing, so the
/// greatest likelihood gathers all clusters in the blocks, each where it needs the fewest.
torch::Tensor mixture_rotation(const Key& key, const torch::Tensor& whitened,
                               const std::vector<int64_t>& sizes,
                               const std::vector<int64_t>& components);

}  // namespace facet
