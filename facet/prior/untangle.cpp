#include "facet/prior/untangle.h"

#include <algorithm>
#include <numeric>

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

/// Which quantile bin of its column each value is in, one-hot, float32 [Z * bins, N]. Ranks make
/// every column uniform over the bins, whatever its scale.
torch::Tensor bin_membership(const torch::Tensor& values, int64_t bins) {
  const int64_t count = values.size(0), dimensions = values.size(1);
  constexpr int64_t over_images = 0;
  const torch::Tensor ranks = values.argsort(over_images, false).argsort(over_images, false);
  const torch::Tensor bin = (ranks * bins).div(count, "floor").t().contiguous();  // [Z, N]
  return torch::zeros({dimensions, bins, count},
                      torch::TensorOptions().dtype(torch::kFloat32).device(values.device()))
      .scatter_(1, bin.unsqueeze(1), 1.0)
      .view({dimensions * bins, count});
}

}  // namespace

torch::Tensor pairwise_dependence(const torch::Tensor& values, int64_t bins) {
  const int64_t dimensions = values.size(1);
  const auto count = static_cast<double>(values.size(0));
  const torch::Tensor member = bin_membership(values, bins);
  const torch::Tensor joint = (member.matmul(member.t()).to(torch::kFloat64) / count)
                                  .view({dimensions, bins, dimensions, bins})
                                  .transpose(1, 2);  // [Z, Z, bins, bins]
  const torch::Tensor single =
      member.sum(1).to(torch::kFloat64).div(count).view({dimensions, bins});
  const torch::Tensor independent =
      single.view({dimensions, 1, bins, 1}) * single.view({1, dimensions, 1, bins});
  torch::Tensor information =
      (torch::xlogy(joint, joint) - torch::xlogy(joint, independent)).sum({2, 3});
  information.fill_diagonal_(0.0);
  return information;
}

torch::Tensor label_dependence(const torch::Tensor& values, const torch::Tensor& labels,
                               int64_t bins) {
  const torch::Tensor known = labels.ge(0).nonzero().squeeze(1);
  const torch::Tensor classes = labels.index_select(0, known);
  const torch::Tensor member = bin_membership(values.index_select(0, known), bins);  // [Z bins, n]
  const auto class_count = classes.max().item<int64_t>() + 1;
  const torch::Tensor of_class =
      torch::one_hot(classes, class_count).to(torch::kFloat32);  // [n, C]
  const auto count = static_cast<double>(known.size(0));
  const torch::Tensor joint = member.matmul(of_class).to(torch::kFloat64).div(count);
  const torch::Tensor independent = joint.sum(1, true) * of_class.to(torch::kFloat64).mean(0);
  return (torch::xlogy(joint, joint) - torch::xlogy(joint, independent))
      .view({values.size(1), -1})
      .sum(1);
}

torch::Tensor group_dimensions(const torch::Tensor& dependence, const std::vector<int64_t>& sizes,
                               const std::vector<torch::Tensor>& preferences) {
  const torch::Tensor table = dependence.to(torch::kCPU).to(torch::kFloat64).contiguous();
  const auto score = table.accessor<double, 2>();
  std::vector<int64_t> left(static_cast<size_t>(table.size(0)));
  std::iota(left.begin(), left.end(), int64_t{0});
  std::vector<std::vector<int64_t>> blocks(sizes.size());
  const auto preferred = [&](size_t block) {
    return block < preferences.size() && preferences[block].defined();
  };
  // Fills a block with what is left, by how strongly a candidate belongs to it.
  const auto fill = [&](size_t block, const auto& strength) {
    while (blocks[block].size() < static_cast<size_t>(sizes[block])) {
      const auto chosen = std::max_element(left.begin(), left.end(), [&](int64_t a, int64_t b) {
        return strength(a) < strength(b);
      });
      blocks[block].push_back(*chosen);
      left.erase(chosen);
    }
  };
  for (size_t i = 0; i < blocks.size(); ++i)
    if (preferred(i)) {
      const torch::Tensor wish = preferences[i].to(torch::kCPU).to(torch::kFloat64).contiguous();
      fill(i, [&](int64_t candidate) { return wish.data_ptr<double>()[candidate]; });
    }
  for (size_t i = 0; i < blocks.size(); ++i)
    if (!preferred(i))
      fill(i, [&](int64_t candidate) {
        double sum = 0, best = 0;
        for (const int64_t member : blocks[i]) sum += score[candidate][member];
        for (const int64_t other : left) best = std::max(best, score[candidate][other]);
        return blocks[i].empty() ? best : sum;
      });
  std::vector<int64_t> order;
  for (const auto& block : blocks) order.insert(order.end(), block.begin(), block.end());
  return torch::tensor(order, torch::kInt64);
}

Coordinates untangle(const torch::Tensor& means, const std::vector<int64_t>& sizes,
                     const std::vector<torch::Tensor>& labels) {
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
  const torch::Tensor coordinates = centred.matmul(transform.t());
  std::vector<torch::Tensor> preferences;
  for (const torch::Tensor& of_block : labels)
    preferences.push_back(of_block.defined() ? label_dependence(coordinates, of_block)
                                             : torch::Tensor());
  const torch::Tensor order =
      group_dimensions(pairwise_dependence(coordinates), sizes, preferences);
  return {transform.index_select(0, order.to(transform.device())), centre};
}

}  // namespace facet
