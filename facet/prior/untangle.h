// Latent coordinates that separate properties. Pre-training with a N(0, I) prior leaves every
// property spread over all latent dimensions, and splitting z into blocks by position would give
// every factor a part of the strongest property. So the encoder's means are whitened, and a named
// factor gets the directions that discriminate its values. The other directions are rotated to make
// every coordinate as clustered as possible, grouped into blocks by their dependence, and rotated
// again to the greatest likelihood under one mixture per block. docs/mathematics.md gives the
// reasons for this order.
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

/// The size and the labels of a block of the latent vector.
struct BlockPlan {
  int64_t dimensions = 0, components = 0;
  torch::Tensor labels;  ///< of a named factor: int64 [N], -1 if unknown; otherwise undefined
};

/// Coordinates for `means` [N, Z], in the order of the blocks. Directions in which the means hardly
/// vary are not scaled up; blocks are filled up with them at the end.
Coordinates untangle(const Key& key, const torch::Tensor& means,
                     const std::vector<BlockPlan>& blocks);

/// The rotation [A, A] of `whitened` [N, A] that minimises the sum of the columns' kurtosis: two or
/// more clusters have a lower kurtosis than a Gaussian, noise and rare events do not.
torch::Tensor clustered_rotation(const torch::Tensor& whitened);

/// Mutual information in nats of every pair of columns of `values` [N, Z], estimated from quantile
/// bins; float64 [Z, Z] with a zero diagonal.
torch::Tensor pairwise_dependence(const torch::Tensor& values, int64_t bins = 12);

/// The dimensions of blocks of these sizes. A block starts with the dimension that depends most on
/// another remaining one and repeatedly adds the one that depends most on the block. The last
/// blocks are smaller if there are too few dimensions.
std::vector<std::vector<int64_t>> group_dimensions(const torch::Tensor& dependence,
                                                   const std::vector<int64_t>& sizes);

/// A rotation [A, A], near the identity, that maximises the likelihood of `whitened` [N, A] if
/// block i, the next sizes[i] columns, is a mixture of components[i] diagonal Gaussians and the
/// columns after the last block are N(0, 1). The maximum has all clusters in the blocks, with as
/// few clusters per block as possible.
torch::Tensor mixture_rotation(const Key& key, const torch::Tensor& whitened,
                               const std::vector<int64_t>& sizes,
                               const std::vector<int64_t>& components);

}  // namespace facet
