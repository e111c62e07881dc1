// Coordinates in which properties come apart. Pre-training with a N(0, I) prior leaves each
// property spread over all latent dimensions, and cutting z into blocks by position would give
// every factor a piece of the strongest one. Here the encoder's means are whitened, rotated until
// the coordinates are as independent as a linear map can make them (independent component
// analysis), and grouped: coordinates that still depend on each other belong to one property and so
// to one factor.
#pragma once

#include <vector>

#include <torch/torch.h>

namespace facet {

/// z' = transform (z - centre).
struct Coordinates {
  torch::Tensor transform;  ///< float64 [Z, Z], invertible
  torch::Tensor centre;     ///< float64 [Z]
};

/// Coordinates of `means` [N, Z] whose first sizes[0] numbers are the first block, and so on.
/// Directions in which the means hardly vary are not scaled up; they fill the last places.
/// `labels[i]`, where defined, is int64 [N] (-1 unknown): block i takes the coordinates that say
/// most about it, before the others are filled.
Coordinates untangle(const torch::Tensor& means, const std::vector<int64_t>& sizes,
                     const std::vector<torch::Tensor>& labels = {});

/// Mutual information of every pair of columns of `values` [N, Z] in nats, estimated on quantile
/// bins, [Z, Z] float64 with a zero diagonal.
torch::Tensor pairwise_dependence(const torch::Tensor& values, int64_t bins = 12);

/// Mutual information of every column of `values` [N, Z] with known labels, [Z].
torch::Tensor label_dependence(const torch::Tensor& values, const torch::Tensor& labels,
                               int64_t bins = 12);

/// An order of the dimensions, int64 [Z], that fills one block after another. Block i with a
/// defined preference [Z] takes the dimensions it prefers most. The others start with the dimension
/// that has the strongest partner left and take the one most dependent on the block until it is
/// full.
torch::Tensor group_dimensions(const torch::Tensor& dependence, const std::vector<int64_t>& sizes,
                               const std::vector<torch::Tensor>& preferences = {});

}  // namespace facet
