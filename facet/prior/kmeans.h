// k-means, which initialises the mixtures: k-means++ seeding, Lloyd's iterations, and empty
// clusters re-seeded at the points farthest from their centres. Distances [N, K] are computed in
// slices of N.
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"

namespace facet {

struct KMeans {
  torch::Tensor centres;      ///< [K, D]
  torch::Tensor assignments;  ///< int64 [N]
  torch::Tensor counts;       ///< int64 [K]
};

/// The sum of each cluster's rows of `points` [N, D], [clusters, D]. Computed on the CPU, since a
/// GPU would add in a different order each time.
torch::Tensor cluster_sums(const torch::Tensor& points, const torch::Tensor& assignments,
                           int64_t clusters);

/// Clusters the rows of `points` [N, D], N >= 1; with fewer distinct points than K some centres
/// coincide.
KMeans k_means(const Key& key, const torch::Tensor& points, int64_t clusters, int64_t iterations);

}  // namespace facet
