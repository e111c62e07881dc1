#include "facet/prior/untangle.h"

#include <algorithm>

namespace facet {

namespace {

/// Below this variance of the means a direction carries no information worth the name.
constexpr double smallest_active_variance = 0.01;

/// The nearest orthogonal matrix.
torch::Tensor orthogonal(const torch::Tensor& matrix) {
  const auto [values, vectors] = torch::linalg_eigh(matrix.matmul(matrix.t()), "L");
  return (vectors * values.rsqrt()).matmul(vectors.t()).matmul(matrix);
}

/// FastICA with the log cosh contrast, all directions at once: a rotation [A, A] after which the
/// columns of `whitened` [N, A] are as far from Gaussian, and so as independent, as it can make
/// them.
torch::Tensor independent_rotation(const torch::Tensor& whitened) {
  constexpr int iterations = 200;
  constexpr double tolerance = 1e-5;
  const auto count = static_cast<double>(whitened.size(0));
  torch::Tensor rotation = torch::eye(whitened.size(1), whitened.options());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const torch::Tensor slope = torch::tanh(whitened.matmul(rotation.t()));  // [N, A]
    const torch::Tensor curvature = (1.0 - slope.square()).mean(0);
    const torch::Tensor next =
        orthogonal(slope.t().matmul(whitened) / count - curvature.unsqueeze(1) * rotation);
    const double turned = (1.0 - (next * rotation).sum(1).abs()).abs().max().item<double>();
    rotation = next;
    if (turned < tolerance) break;
  }
  return rotation;
}

}  // namespace

torch::Tensor pairwise_dependence(const torch::Tensor& values, int64_t bins) {
  const int64_t count = values.size(0), dimensions = values.size(1);
  // Ranks make every column uniform over the bins, whatever its scale.
  constexpr int64_t over_images = 0;
  const torch::Tensor ranks = values.argsort(over_images, false).argsort(over_images, false);
  const torch::Tensor bin = (ranks * bins).div(count, "floor").t().contiguous();  // [Z, N]
  const torch::Tensor member =
      torch::zeros({dimensions, bins, count},
                   torch::TensorOptions().dtype(torch::kFloat32).device(values.device()))
          .scatter_(1, bin.unsqueeze(1), 1.0)
          .view({dimensions * bins, count});
  const torch::Tensor joint =
      (member.matmul(member.t()).to(torch::kFloat64) / static_cast<double>(count))
          .view({dimensions, bins, dimensions, bins})
          .transpose(1, 2);  // [Z, Z, bins, bins]
  const torch::Tensor single =
      member.sum(1).to(torch::kFloat64).div(static_cast<double>(count)).view({dimensions, bins});
  const torch::Tensor independent =
      single.view({dimensions, 1, bins, 1}) * single.view({1, dimensions, 1, bins});
  torch::Tensor information =
      (torch::xlogy(joint, joint) - torch::xlogy(joint, independent)).sum({2, 3});
  information.fill_diagonal_(0.0);
  return information;
}

torch::Tensor group_dimensions(const torch::Tensor& dependence, const std::vector<int64_t>& sizes) {
  const torch::Tensor table = dependence.to(torch::kCPU).to(torch::kFloat64).contiguous();
  const auto score = table.accessor<double, 2>();
  std::vector<int64_t> left(static_cast<size_t>(table.size(0)));
  for (size_t d = 0; d < left.size(); ++d) left[d] = static_cast<int64_t>(d);

  std::vector<int64_t> order;
  for (const int64_t size : sizes) {
    const size_t start = order.size();
    while (order.size() < start + static_cast<size_t>(size)) {
      // How strongly a candidate depends on the block so far; on its best partner while it is
      // empty.
      const auto strength = [&](int64_t candidate) {
        double sum = 0, best = 0;
        for (size_t i = start; i < order.size(); ++i) sum += score[candidate][order[i]];
        for (const int64_t other : left) best = std::max(best, score[candidate][other]);
        return order.size() == start ? best : sum;
      };
      const auto chosen = std::max_element(left.begin(), left.end(), [&](int64_t a, int64_t b) {
        return strength(a) < strength(b);
      });
      order.push_back(*chosen);
      left.erase(chosen);
    }
  }
  return torch::tensor(order, torch::kInt64);
}

Coordinates untangle(const torch::Tensor& means, const std::vector<int64_t>& sizes) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor centre = means.to(torch::kFloat64).mean(0);
  const torch::Tensor centred = means.to(torch::kFloat64) - centre;
  const auto [variances, directions] = torch::linalg_eigh(
      centred.t().matmul(centred) / static_cast<double>(means.size(0)), "L");  // ascending
  const auto active = variances.gt(smallest_active_variance).sum().item<int64_t>();
  const torch::Tensor scale = torch::where(variances.gt(smallest_active_variance),
                                           variances.rsqrt(), torch::ones_like(variances));
  torch::Tensor transform = (directions * scale).t().flip({0}).contiguous();  // active ones first
  if (active > 1) {
    const torch::Tensor whitened = centred.matmul(transform.narrow(0, 0, active).t());
    transform.narrow(0, 0, active)
        .copy_(independent_rotation(whitened).matmul(transform.narrow(0, 0, active)));
  }
  const torch::Tensor order =
      group_dimensions(pairwise_dependence(centred.matmul(transform.t())), sizes);
  return {transform.index_select(0, order.to(transform.device())), centre};
}

}  // namespace facet
