// What a stack keeps between its passes, and the passes themselves: forward in stack_forward.cpp,
// backward in stack_backward.cpp. For CUDA files only.
#pragma once

#include <vector>

#include <c10/cuda/CUDAStream.h>

#include "facet/core/tensor.h"
#include "facet/cuda/own_stream.h"
#include "facet/cuda/stack.h"
#include "facet/cuda/stack_layout.h"

namespace facet::cuda {

/// One stream's memory for partial sums.
struct WorkspaceMemory {
  torch::Tensor sums, counters;

  explicit WorkspaceMemory(torch::Device device);
  Workspace workspace() const;
};

struct StackState {
  std::vector<StackLayer> layers;
  std::vector<torch::Tensor> bf16_copies;
  Operand operand;
  WorkspaceMemory main_memory, side_memory;
  std::vector<torch::Tensor>
      kept;  ///< what the side stream still reads; freed after own_side, which waits
  OwnStream own_side;
  c10::cuda::CUDAStream side;  ///< where the parameters' gradients are computed
  bool side_busy = false;
  bool written = false;  ///< the parameters have gradients that another backward pass adds to
  /// Needs a gradient and never gets one: with it LibTorch runs the backward pass even where the
  /// input needs no gradient, since the parameters get theirs on the side.
  torch::Tensor anchor;
  torch::Tensor patches_input, patches;  ///< of the last input, which a step encodes twice
  int64_t patches_version = 0;

  StackState(std::vector<StackLayer> layers, std::vector<torch::Tensor> bf16_copies);

  torch::Device device() const { return layers.front().weight.device(); }
  /// The operand's type.
  torch::ScalarType type() const;
  torch::Tensor memory(int64_t count, torch::ScalarType type) const;
  const void* weights(size_t layer) const;
  /// Layer i's weights, filled up for its patches.
  torch::Tensor filled_weights(size_t layer, const Patches& shape, cudaStream_t stream) const;
  /// Vectors [B, N] as the operand's type, so that they can be copied in whole pieces.
  torch::Tensor rounded(const torch::Tensor& vectors, cudaStream_t stream) const;
  /// Where layer i's input lies: saved activations, or the stack's own input.
  View input_view(size_t layer, const torch::Tensor& data) const;
  /// Layer i by its weights or transposed ones, to images of few channels: the last layer's forward
  /// pass and the first layer's backward pass. Gives the weights, filled up.
  torch::Tensor convolve_to_image(size_t layer, bool transposed, const ConvolutionSizes& sizes,
                                  const View& from, const Finish& finish,
                                  cudaStream_t stream) const;

  bool last(size_t layer) const { return layer + 1 == layers.size(); }
  bool before_linear(size_t layer) const;
  /// Whether layer i reads images of few channels; writes such.
  bool of_images(size_t layer) const;
  bool to_images(size_t layer) const;
};

struct ForwardResult {
  torch::Tensor output;
  /// What each layer read (patches where it reads images of few channels), and at the end the last
  /// layer's filled-up weights, undefined where it has none.
  std::vector<torch::Tensor> saved;
};
ForwardResult forward_pass(StackState& state, const torch::Tensor& input);

/// The gradient of the input, undefined where it is not needed; the gradients of the parameters go
/// into their .grad on the side stream. `saved` is the forward pass's.
torch::Tensor backward_pass(StackState& state, const torch::Tensor& output_gradient,
                            const std::vector<torch::Tensor>& saved, bool input_needs_gradient);

}  // namespace facet::cuda
