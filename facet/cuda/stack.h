// A network on a GPU as one differentiable operation: convolutions, transposed convolutions and
// linear layers with their ReLUs, forward and backward on the kernels of convolution.h. It computes
// what LibTorch's operations compute (nets/convolutional.cpp), in TF32 or bfloat16. The gradients
// of the parameters go straight into their .grad, and are computed on a stream of their own beside
// the gradient of the input.
#pragma once

#include <memory>
#include <vector>

#include "facet/core/tensor.h"

namespace facet::cuda {

struct StackLayer {
  enum class Kind { convolution, transposed, linear };
  Kind kind;
  /// As the layer runs, from in to out. A linear layer reads feature maps as channels, rows and
  /// columns in this order, and writes them so.
  int64_t channels_in, height_in, width_in, channels_out, height_out, width_out;
  int64_t kernel = 1, stride = 1, padding = 0;
  bool relu = false;
  torch::Tensor weight, bias;  ///< 4-D weights lie channels-last
};

struct StackState;

class Stack {
 public:
  /// `bf16_copies` are bfloat16 copies of the weights, one per layer; without them operands are
  /// TF32.
  Stack(std::vector<StackLayer> layers, std::vector<torch::Tensor> bf16_copies);
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  /// Float32 to float32: images [B, C, H, W] or vectors [B, Z].
  torch::Tensor forward(const torch::Tensor& input);

  /// The next backward pass writes the parameters' gradients, further ones add to them.
  void begin_gradients();
  /// The current stream waits for gradients that are being computed.
  void finish_gradients();

 private:
  std::shared_ptr<StackState> state_;  ///< shared with backward passes to come
};

}  // namespace facet::cuda
