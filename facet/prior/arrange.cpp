#include "facet/prior/arrange.h"

#include <algorithm>

namespace facet {

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

}  // namespace facet
