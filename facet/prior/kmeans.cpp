#include "facet/prior/kmeans.h"

#include <algorithm>

#include "facet/core/torch.h"

namespace facet {

namespace {

struct Nearest {
  torch::Tensor distances, assignments;  ///< squared distance and index of the nearest centre, [N]
};

/// In slices, so that a distance matrix has at most a few million elements.
Nearest nearest_centres(const torch::Tensor& points, const torch::Tensor& centres) {
  const int64_t slice = std::max<int64_t>(1, (int64_t{1} << 22) / centres.size(0));
  const torch::Tensor norms = centres.square().sum(1);
  std::vector<torch::Tensor> distances, assignments;
  for (const torch::Tensor& part : points.split(slice)) {
    const torch::Tensor squared =
        torch::addmm(norms, part, centres.t(), 1, -2) + part.square().sum(1, true);
    const auto [smallest, index] = squared.min(1);
    distances.push_back(smallest.clamp_min(0));
    assignments.push_back(index);
  }
  return {torch::cat(distances), torch::cat(assignments)};
}

/// k-means++ seeding: each further centre is a point drawn with probability proportional to its
/// squared distance from the nearest centre so far.
torch::Tensor seed_centres(const Key& key, const torch::Tensor& points, int64_t clusters) {
  const auto generator = key.generator(points.device());
  std::vector<torch::Tensor> centres;
  torch::Tensor distances = torch::ones({points.size(0)}, points.options());
  for (int64_t k = 0; k < clusters; ++k) {
    const torch::Tensor weights = distances + 1e-12;  // all points may coincide with centres
    const torch::Tensor index = torch::multinomial(weights, 1, false, generator);
    centres.push_back(points.index_select(0, index));
    const torch::Tensor to_new = (points - centres.back()).square().sum(1);
    distances = k == 0 ? to_new : torch::minimum(distances, to_new);
  }
  return torch::cat(centres);
}

}  // namespace

torch::Tensor cluster_sums(const torch::Tensor& points, const torch::Tensor& assignments,
                           int64_t clusters) {
  const torch::Tensor rows = points.to(torch::kCPU);
  return torch::zeros({clusters, points.size(1)}, rows.options())
      .index_add_(0, assignments.to(torch::kCPU), rows)
      .to(points.device());
}

KMeans k_means(const Key& key, const torch::Tensor& points, int64_t clusters, int64_t iterations) {
  torch::NoGradGuard no_gradient;
  torch::Tensor centres = seed_centres(key, points, clusters);
  Nearest nearest = nearest_centres(points, centres);
  torch::Tensor counts;
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    counts = torch::bincount(nearest.assignments, {}, clusters);
    const torch::Tensor sums = cluster_sums(points, nearest.assignments, clusters);
    // A cluster without points keeps its centre until it is re-seeded below.
    centres = torch::where(counts.gt(0).unsqueeze(1),
                           sums / counts.clamp_min(1).unsqueeze(1).to(points.dtype()), centres);
    const torch::Tensor empty = counts.eq(0).nonzero().squeeze(1);
    if (const int64_t vacant = std::min(empty.size(0), points.size(0)); vacant > 0) {
      const torch::Tensor farthest = std::get<1>(nearest.distances.topk(vacant));
      centres.index_copy_(0, empty.narrow(0, 0, vacant), points.index_select(0, farthest));
    }
    nearest = nearest_centres(points, centres);
  }
  counts = torch::bincount(nearest.assignments, {}, clusters);
  return {centres, nearest.assignments, counts};
}

}  // namespace facet
