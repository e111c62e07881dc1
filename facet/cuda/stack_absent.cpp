// What stands in for stack*.cpp in builds without CUDA. kernels_available() is false there, so
// nobody makes a stack.
#include <stdexcept>

#include "facet/core/torch.h"
#include "facet/cuda/stack.h"

namespace facet::cuda {

struct StackState {};

Stack::Stack(std::vector<StackLayer>, std::vector<torch::Tensor>) {
  throw std::logic_error("a network on a GPU, in a build without CUDA");
}
Stack::~Stack() = default;
torch::Tensor Stack::forward(const torch::Tensor& input) { return input; }
void Stack::begin_gradients() {}
void Stack::finish_gradients() {}

}  // namespace facet::cuda
