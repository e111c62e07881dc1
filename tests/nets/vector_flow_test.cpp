// The flow of vectors: a start at zero, and what its velocity depends on.
#include "facet/nets/vector_flow.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"

namespace facet {
namespace {

constexpr int64_t vector_size = 5, condition_size = 3;

torch::Tensor rows(uint64_t number, int64_t size) {
  return standard_normal(Key(number), {4, size}, kFloat32);
}

TEST(VectorFlow, StartsAtZero) {
  const VectorFlow flow(vector_size, condition_size, Key(1));
  const torch::Tensor velocity =
      flow.velocity(rows(2, vector_size), rows(3, condition_size), torch::rand({4}));
  EXPECT_EQ(velocity.sizes(), (std::vector<int64_t>{4, vector_size}));
  EXPECT_EQ(velocity.abs().max().item<float>(), 0.0f);
}

TEST(VectorFlow, DependsOnVectorConditionAndTimeOfItsRowAndOnEveryParameter) {
  const VectorFlow flow(vector_size, condition_size, Key(1));
  {
    torch::NoGradGuard no_gradient;
    uint64_t number = 10;
    for (const auto& [name, parameter] : flow.parameters())
      parameter.copy_(0.2 * standard_normal(Key(number++), parameter.sizes(), kFloat32));
  }
  const torch::Tensor x = rows(2, vector_size), conditions = rows(3, condition_size),
                      times = torch::tensor({0.0f, 0.2f, 0.5f, 1.0f});
  const torch::Tensor velocity = flow.velocity(x, conditions, times);
  velocity.square().sum().backward();
  for (const auto& [name, parameter] : flow.parameters())
    EXPECT_GT(parameter.grad().abs().sum().item<float>(), 0.0f) << name;
  const auto changed = [](const torch::Tensor& all) {
    torch::Tensor other = all.clone();
    other[1] += 0.3;
    return other;
  };
  for (const torch::Tensor& other :
       {flow.velocity(changed(x), conditions, times), flow.velocity(x, changed(conditions), times),
        flow.velocity(x, conditions, changed(times))}) {
    EXPECT_GT((other[1] - velocity[1]).abs().max().item<float>(), 1e-3f);
    for (const int64_t row : {0, 2, 3})
      EXPECT_LT((other[row] - velocity[row]).abs().max().item<float>(), 1e-5f);
  }
}

}  // namespace
}  // namespace facet
