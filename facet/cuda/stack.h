// A network on a GPU as one differentiable operation: convolutions, transposed convolutions and
// linear layers with their ReLUs, forward and backward on the kernels of convolution.h. What
// LibTorch's modules compute, in TF32 or bfloat16. Gradients of parameters go straight to where
// their .grad lies, and are computed on a stream of their own beside the way back to the input.
#pragma once

#include <memory>
#include <vector>

#include "facet/core/tensor.h"

namespace facet::cuda {

struct StackLayer {
  enum class Kind { convolution, transposed, linear };
  Kind kind;
  /// As the layer runs, from in to out. A linear layer reads feature maps as channels, rows and
  /// columns in this order, and makes such.
  int64_t channels_in, height_in, width_in, channels_out, height_out, width_out;
  int64_t kernel = 1, stride = 1, padding = 0;
  bool relu = false;
  torch::Tensor weight, bias;  ///< 4-D weights lie channels-last
};

/// Whether this build and the GPU can run stacks.
bool takes_stacks(torch::Device device);

class Stack {
 public:
  /// `shadows` are bfloat16 copies of the weights, one a layer; without them operands are TF32.
  Stack(std::vector<StackLayer> layers, std::vector<torch::Tensor> shadows);
  ~Stack();

  /// Float32 to float32: images [B, C, H, W] or vectors [B, Z].
  torch::Tensor forward(const torch::Tensor& input);

  /// The next way back writes the parameters' gradients, further ones add to them.
  void begin_gradients();
  /// The current stream waits for gradients that are under way.
  void finish_gradients();

 private:
  struct State;
  struct Run;
  std::shared_ptr<State> state_;
};

}  // namespace facet::cuda
