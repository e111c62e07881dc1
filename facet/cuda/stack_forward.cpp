// The forward pass of a stack, layer by layer on the current stream. Activations between layers are
// stored as the operand's type, in the order in which the next layer reads them.
#include <ATen/cuda/CUDAContext.h>

#include "facet/core/torch.h"
#include "facet/cuda/stack_state.h"

namespace facet::cuda {

namespace {

using Kind = StackLayer::Kind;

/// Where layer i's output goes.
View output_view(const StackState& state, size_t i, const torch::Tensor& data) {
  const StackLayer& layer = state.layers[i];
  const int64_t h = layer.height_out, w = layer.width_out, c = layer.channels_out;
  if (state.last(i)) return view_of(data);
  if (layer.kind == Kind::linear)
    return state.before_linear(i) ? vectors(data, h * w * c) : features_in_rows(data, h, w, c);
  return state.before_linear(i) ? rows_of_features(data, h, w, c) : rows_of_channels(data, h, w, c);
}

/// The first layer, whose images have few channels: gives the patches that it is computed from. A
/// step encodes the same images twice, so that patches are kept until other images come.
torch::Tensor convolve_image(StackState& state, const ConvolutionSizes& sizes,
                             const torch::Tensor& input, const Finish& finish,
                             cudaStream_t stream) {
  const Patches shape = patches_of(sizes, true);
  const auto version = static_cast<int64_t>(input._version());
  const bool known = state.patches_input.defined() && state.patches_input.is_same(input) &&
                     state.patches_version == version;
  if (!known) {
    state.patches = state.memory(shape.elements(), state.type());
    unfold(state.operand, sizes, view_of(input), state.patches.data_ptr(), shape.pitch, stream);
    state.patches_input = input;
    state.patches_version = version;
  }
  const torch::Tensor weights = state.filled_weights(0, shape, stream);
  convolve(state.operand, shape.filled, shape.view(state.patches), weights.data_ptr(), finish,
           state.main_memory.workspace(), stream);
  return state.patches;
}

torch::Tensor make_output(const StackLayer& end, const torch::Tensor& input) {
  const int64_t batch = input.size(0);
  return end.kind == Kind::linear
             ? torch::empty({batch, output_count(end)}, input.options())
             : torch::empty({batch, end.channels_out, end.height_out, end.width_out},
                            input.options());
}

}  // namespace

ForwardResult forward_pass(StackState& state, const torch::Tensor& input) {
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  const int64_t batch = input.size(0);
  ForwardResult result;
  result.output = make_output(state.layers.back(), input);
  torch::Tensor filled;  // the last layer's weights, where its output has few channels
  torch::Tensor current =
      state.layers.front().kind == Kind::linear ? state.rounded(input, stream) : input;
  for (size_t i = 0; i < state.layers.size(); ++i) {
    const StackLayer& layer = state.layers[i];
    const bool transposed = layer.kind == Kind::transposed;
    const ConvolutionSizes sizes = sizes_of(layer, batch);
    const torch::Tensor next =
        state.last(i) ? result.output : state.memory(batch * output_count(layer), state.type());
    Finish finish;
    finish.out = output_view(state, i, next);
    finish.bias = layer.bias.data_ptr<float>();
    finish.relu = layer.relu;
    const View from = state.input_view(i, current);
    result.saved.push_back(current);
    if (state.of_images(i))
      result.saved.back() = convolve_image(state, sizes, input, finish, stream);
    else if (state.to_images(i))
      filled = state.convolve_to_image(i, transposed, sizes, from, finish, stream);
    else
      (transposed ? convolve_transposed : convolve)(state.operand, sizes, from, state.weights(i),
                                                    finish, state.main_memory.workspace(), stream);
    current = next;
  }
  result.saved.push_back(filled);
  AT_CUDA_CHECK(cudaGetLastError());
  return result;
}

}  // namespace facet::cuda
