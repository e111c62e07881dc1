#include "facet/prior/untangle.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "facet/core/torch.h"
#include "facet/prior/kmeans.h"

namespace facet {

namespace {

/// Directions in which the means have a smaller variance are inactive.
constexpr double smallest_active_variance = 0.01;

/// The nearest orthogonal matrix.
torch::Tensor orthogonal(const torch::Tensor& matrix) {
  const auto [values, vectors] = torch::linalg_eigh(matrix.matmul(matrix.t()), "L");
  return (vectors * values.clamp_min(1e-300).rsqrt()).matmul(vectors.t()).matmul(matrix);
}

/// The quantile bin of every value within its column, one-hot, float32 [Z * bins, N]. Ranks make
/// every column uniform over the bins, regardless of its scale.
torch::Tensor bin_membership(const torch::Tensor& values, int64_t bins) {
  const int64_t count = values.size(0), dimensions = values.size(1);
  constexpr int64_t over_images = 0;
  const torch::Tensor ranks = values.argsort(over_images, false).argsort(over_images, false);
  const torch::Tensor bin = (ranks * bins).div(count, "floor").t().contiguous();  // [Z, N]
  return torch::zeros({dimensions, bins, count},
                      torch::TensorOptions().dtype(kFloat32).device(values.device()))
      .scatter_(1, bin.unsqueeze(1), 1.0)
      .view({dimensions * bins, count});
}

/// Directions along which the means of a property's values differ, rows [F, A] with F <= `limit`.
/// `whitened` has unit covariance, so that these are Fisher's discriminants.
torch::Tensor discriminants(const torch::Tensor& whitened, const torch::Tensor& labels,
                            int64_t limit) {
  const torch::Tensor known = labels.ge(0).nonzero().squeeze(1);
  const torch::Tensor values = labels.index_select(0, known);
  const torch::Tensor points = whitened.index_select(0, known);
  const torch::Tensor member =
      torch::one_hot(values, values.max().item<int64_t>() + 1).to(kFloat64);  // [n, V]
  const torch::Tensor counts = member.sum(0);
  const torch::Tensor means =
      member.t().matmul(points) / counts.clamp_min(1.0).unsqueeze(1);  // [V, A]
  const torch::Tensor seen = counts.gt(0).nonzero().squeeze(1);
  const torch::Tensor spread = (means - points.mean(0)).index_select(0, seen) *
                               counts.index_select(0, seen).sqrt().unsqueeze(1);
  const auto [left, sizes, directions] = torch::linalg_svd(spread, /*full_matrices=*/false);
  return directions.narrow(0, 0, std::min({limit, seen.size(0) - 1, directions.size(0)}));
}

/// Orthonormal rows that span the part of `wanted` [F, A] orthogonal to the rows of `taken`.
torch::Tensor orthonormal_part(const torch::Tensor& taken, const torch::Tensor& wanted) {
  const torch::Tensor rest = wanted - wanted.matmul(taken.t()).matmul(taken);
  const auto [left, sizes, directions] = torch::linalg_svd(rest, /*full_matrices=*/false);
  return directions.narrow(0, 0, sizes.gt(1e-6).sum().item<int64_t>());
}

/// Orthonormal rows [A - F, A] that span the complement of the orthonormal rows `taken` [F, A].
torch::Tensor complement(const torch::Tensor& taken) {
  const int64_t count = taken.size(0), dimensions = taken.size(1);
  if (count == 0) return torch::eye(dimensions, taken.options());
  const auto [left, sizes, directions] = torch::linalg_svd(taken, /*full_matrices=*/true);
  return directions.narrow(0, count, dimensions - count);
}

/// A mixture of diagonal Gaussians for one block, with parameters that gradients flow to.
struct DiagonalMixture {
  torch::Tensor means, log_variances, scores;  ///< [K, D], [K, D], [K] up to a constant

  DiagonalMixture(const Key& key, const torch::Tensor& points, int64_t components) {
    constexpr int64_t iterations = 30;
    const KMeans clusters = k_means(key, points, components, iterations);
    const torch::Tensor residual = points - clusters.centres.index_select(0, clusters.assignments);
    const torch::Tensor counts = clusters.counts.to(kFloat64).clamp_min(1.0);
    const torch::Tensor variances =
        cluster_sums(residual.square(), clusters.assignments, components) / counts.unsqueeze(1);
    means = clusters.centres.clone().set_requires_grad(true);
    log_variances = (variances + floor).log().set_requires_grad(true);
    scores = counts.log().set_requires_grad(true);
  }

  /// The log density of rows [n, D], [n], without a tensor of size [n, K, D].
  torch::Tensor log_density(const torch::Tensor& points) const {
    const torch::Tensor variances = log_variances.exp() + floor;
    const torch::Tensor precision = variances.reciprocal();
    const torch::Tensor distance = points.square().matmul(precision.t()) -
                                   2 * points.matmul((means * precision).t()) +
                                   (means.square() * precision).sum(1);  // [n, K]
    const torch::Tensor constant =
        torch::log_softmax(scores, 0) - 0.5 * (variances.log() + std::log(2 * M_PI)).sum(1);  // [K]
    return torch::logsumexp(constant - 0.5 * distance, 1);
  }

  /// The least variance, where columns have unit variance: no component may collapse on a few
  /// points.
  static constexpr double floor = 0.01;
};

/// Adam on a few separate tensors, with the usual betas (0.9, 0.999).
class SimpleAdam {
 public:
  explicit SimpleAdam(std::vector<torch::Tensor> tensors) : tensors_(std::move(tensors)) {
    for (const torch::Tensor& tensor : tensors_)
      moments_.emplace_back(torch::zeros_like(tensor), torch::zeros_like(tensor));
  }

  /// One step, after which the gradients are zero.
  void step(double rate) {
    torch::NoGradGuard no_gradient;
    ++steps_;
    const double correction = 1 - std::pow(0.9, steps_), correction2 = 1 - std::pow(0.999, steps_);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      auto& [first, second] = moments_[i];
      const torch::Tensor gradient = tensors_[i].grad();
      first.mul_(0.9).add_(gradient, 1 - 0.9);
      second.mul_(0.999).addcmul_(gradient, gradient, 1 - 0.999);
      const torch::Tensor denominator = (second.sqrt() / std::sqrt(correction2)).add_(1e-8);
      tensors_[i].addcdiv_(first, denominator, -rate / correction);
      tensors_[i].mutable_grad().zero_();
    }
  }

 private:
  std::vector<torch::Tensor> tensors_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> moments_;
  int64_t steps_ = 0;
};

}  // namespace

torch::Tensor clustered_rotation(const torch::Tensor& whitened) {
  constexpr int iterations = 1000;
  constexpr double tolerance = 1e-7;
  // Gradient ascent on -sum E[y^4] over rotations; 6, twice the fourth moment of a Gaussian, keeps
  // the steps short.
  constexpr double inertia = 6.0;
  const auto count = static_cast<double>(whitened.size(0));
  torch::Tensor rotation = torch::eye(whitened.size(1), whitened.options());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const torch::Tensor rotated = whitened.matmul(rotation.t());  // [N, A]
    const torch::Tensor next =
        orthogonal(inertia * rotation - rotated.pow(3).t().matmul(whitened) / count);
    const double angle = (1.0 - (next * rotation).sum(1)).abs().max().item<double>();
    rotation = next;
    if (angle < tolerance) break;
  }
  return rotation;
}

torch::Tensor pairwise_dependence(const torch::Tensor& values, int64_t bins) {
  const int64_t dimensions = values.size(1);
  const auto count = static_cast<double>(values.size(0));
  const torch::Tensor member = bin_membership(values, bins);
  const torch::Tensor joint = (member.matmul(member.t()).to(kFloat64) / count)
                                  .view({dimensions, bins, dimensions, bins})
                                  .transpose(1, 2);  // [Z, Z, bins, bins]
  const torch::Tensor single = member.sum(1).to(kFloat64).div(count).view({dimensions, bins});
  const torch::Tensor independent =
      single.view({dimensions, 1, bins, 1}) * single.view({1, dimensions, 1, bins});
  torch::Tensor information =
      (torch::xlogy(joint, joint) - torch::xlogy(joint, independent)).sum({2, 3});
  information.fill_diagonal_(0.0);
  return information;
}

std::vector<std::vector<int64_t>> group_dimensions(const torch::Tensor& dependence,
                                                   const std::vector<int64_t>& sizes) {
  const torch::Tensor table = dependence.to(torch::kCPU).to(kFloat64).contiguous();
  const auto score = table.accessor<double, 2>();
  std::vector<int64_t> left(static_cast<size_t>(table.size(0)));
  std::iota(left.begin(), left.end(), int64_t{0});
  std::vector<std::vector<int64_t>> blocks(sizes.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto strength = [&](int64_t candidate) {
      double sum = 0, best = 0;
      for (const int64_t member : blocks[i]) sum += score[candidate][member];
      for (const int64_t other : left) best = std::max(best, score[candidate][other]);
      return blocks[i].empty() ? best : sum;
    };
    while (!left.empty() && blocks[i].size() < static_cast<size_t>(sizes[i])) {
      const auto chosen = std::max_element(left.begin(), left.end(), [&](int64_t a, int64_t b) {
        return strength(a) < strength(b);
      });
      blocks[i].push_back(*chosen);
      left.erase(chosen);
    }
  }
  return blocks;
}

torch::Tensor mixture_rotation(const Key& key, const torch::Tensor& whitened,
                               const std::vector<int64_t>& sizes,
                               const std::vector<int64_t>& components) {
  constexpr int64_t steps = 500, batch = 2000;
  constexpr double rate = 0.01;
  std::vector<DiagonalMixture> mixtures;
  const torch::Tensor skew = torch::zeros({whitened.size(1), whitened.size(1)}, whitened.options())
                                 .set_requires_grad(true);
  std::vector<torch::Tensor> parameters = {skew};
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); start += sizes[i++]) {
    mixtures.emplace_back(key.fold(i), whitened.narrow(1, start, sizes[i]), components[i]);
    for (const auto& tensor : {mixtures[i].means, mixtures[i].log_variances, mixtures[i].scores})
      parameters.push_back(tensor);
  }
  const auto rotation = [&] { return torch::matrix_exp(skew - skew.t()); };
  torch::AutoGradMode gradient(true);
  SimpleAdam optimizer(parameters);
  for (int64_t step = 0; step < steps; ++step) {
    const double progress = static_cast<double>(step) / static_cast<double>(steps);
    const torch::Tensor chosen =
        torch::randint(whitened.size(0), {std::min(batch, whitened.size(0))},
                       key.fold("batch").fold(static_cast<uint64_t>(step)).generator(), kInt64)
            .to(whitened.device());
    const torch::Tensor rotated = whitened.index_select(0, chosen).matmul(rotation().t());
    torch::Tensor log_density = -0.5 * rotated.narrow(1, start, rotated.size(1) - start)
                                           .square()
                                           .sum(1);  // of the columns outside the blocks
    int64_t at = 0;
    for (size_t i = 0; i < sizes.size(); at += sizes[i++])
      log_density = log_density + mixtures[i].log_density(rotated.narrow(1, at, sizes[i]));
    (-log_density.mean()).backward();
    optimizer.step(rate * std::min(1.0, 2.0 * (1.0 - progress)));
  }
  torch::NoGradGuard no_gradient;
  return rotation();
}

namespace {

/// Rows [Z, Z], by descending variance; active directions are scaled to unit variance.
struct Whitening {
  torch::Tensor rows;
  int64_t active = 0;
};
Whitening whiten(const torch::Tensor& centred) {
  const auto [variances, directions] = torch::linalg_eigh(
      centred.t().matmul(centred) / static_cast<double>(centred.size(0)), "L");  // ascending
  const torch::Tensor active = variances.gt(smallest_active_variance);
  const torch::Tensor scale = torch::where(active, variances.rsqrt(), torch::ones_like(variances));
  return {(directions * scale).t().flip({0}).contiguous(), active.sum().item<int64_t>()};
}

/// Orthonormal rows in the whitened space: those of each block, and those that no block has.
struct Directions {
  std::vector<torch::Tensor> blocks;  ///< [<= D, A] each
  torch::Tensor left;                 ///< [L, A]
};

/// The directions of the blocks with labels; all others are left.
Directions named_directions(const torch::Tensor& whitened, const std::vector<BlockPlan>& blocks) {
  Directions directions;
  torch::Tensor taken = torch::zeros({0, whitened.size(1)}, whitened.options());
  for (const BlockPlan& block : blocks) {
    directions.blocks.push_back(
        block.labels.defined() && whitened.size(1) > 0
            ? orthonormal_part(taken, discriminants(whitened, block.labels, block.dimensions))
            : taken.narrow(0, 0, 0));
    taken = torch::cat({taken, directions.blocks.back()});
  }
  directions.left = complement(taken);
  return directions;
}

/// Rotates the directions that are left and distributes them over the blocks without labels.
void add_free_directions(const Key& key, const torch::Tensor& whitened,
                         const std::vector<BlockPlan>& blocks, Directions& directions) {
  std::vector<size_t> free;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (!blocks[i].labels.defined()) {
      free.push_back(i);
      sizes.push_back(blocks[i].dimensions);
    }
  torch::Tensor rows = directions.left;
  if (free.empty() || rows.size(0) == 0) return;
  rows = clustered_rotation(whitened.matmul(rows.t())).matmul(rows);
  const auto groups = group_dimensions(pairwise_dependence(whitened.matmul(rows.t())), sizes);
  std::vector<int64_t> order, components;
  sizes.clear();
  for (size_t i = 0; i < groups.size() && !groups[i].empty(); ++i) {
    order.insert(order.end(), groups[i].begin(), groups[i].end());
    sizes.push_back(static_cast<int64_t>(groups[i].size()));
    components.push_back(blocks[free[i]].components);
  }
  const int64_t assigned = static_cast<int64_t>(order.size());
  for (int64_t row = 0; row < rows.size(0); ++row)
    if (std::find(order.begin(), order.begin() + assigned, row) == order.begin() + assigned)
      order.push_back(row);
  rows = rows.index_select(0, torch::tensor(order, kInt64).to(rows.device()));
  rows = mixture_rotation(key, whitened.matmul(rows.t()), sizes, components).matmul(rows);
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); start += sizes[i++])
    directions.blocks[free[i]] = rows.narrow(0, start, sizes[i]);
  directions.left = rows.narrow(0, assigned, rows.size(0) - assigned);
}

}  // namespace

Coordinates untangle(const Key& key, const torch::Tensor& means,
                     const std::vector<BlockPlan>& blocks) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor centre = means.to(kFloat64).mean(0);
  const torch::Tensor centred = means.to(kFloat64) - centre;
  const Whitening whitening = whiten(centred);
  const torch::Tensor active = whitening.rows.narrow(0, 0, whitening.active);
  const torch::Tensor whitened = centred.matmul(active.t());
  Directions directions = named_directions(whitened, blocks);
  add_free_directions(key, whitened, blocks, directions);
  std::vector<torch::Tensor> transform;
  int64_t next_left = 0, next_inactive = whitening.active;
  for (size_t i = 0; i < blocks.size(); ++i) {
    transform.push_back(directions.blocks[i].matmul(active));
    for (int64_t d = directions.blocks[i].size(0); d < blocks[i].dimensions; ++d)
      transform.push_back(next_left < directions.left.size(0)
                              ? directions.left.narrow(0, next_left++, 1).matmul(active)
                              : whitening.rows.narrow(0, next_inactive++, 1));
  }
  return {torch::cat(transform), centre};
}

}  // namespace facet
