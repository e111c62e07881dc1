// The backward pass of a stack, from the last layer to the first. The gradient of the layers'
// inputs goes along the current stream; the side stream follows it and computes the gradients of
// the parameters, which nothing else in the pass waits for.
#include <utility>
#include <vector>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include "facet/core/torch.h"
#include "facet/cuda/stack_state.h"

namespace facet::cuda {

namespace {

using Kind = StackLayer::Kind;

/// Where the gradient of layer i's input goes: as the layer before it made that input.
View gradient_view(const StackState& state, size_t i, const torch::Tensor& data) {
  const StackLayer& layer = state.layers[i];
  const int64_t h = layer.height_in, w = layer.width_in, c = layer.channels_in;
  const bool from_linear = layer.kind == Kind::linear;
  const bool to_linear = state.layers[i - 1].kind == Kind::linear;
  if (from_linear && to_linear) return vectors(data, h * w * c);
  if (from_linear) return features_in_rows(data, h, w, c);
  return to_linear ? rows_of_features(data, h, w, c) : rows_of_channels(data, h, w, c);
}

/// One layer in the backward pass.
struct LayerBackward {
  const StackState& state;
  const size_t i;
  const StackLayer& layer;
  const bool transposed, of_images, to_images;
  const ConvolutionSizes sizes;
  const Patches patches;
  View gradient, from;     ///< of its output; its input, patches where it reads images
  torch::Tensor unfolded;  ///< patches of the gradient where it makes images
  View unfolded_view;

  LayerBackward(const StackState& all, size_t number, int64_t batch,
                const torch::Tensor& output_gradient, const torch::Tensor& input,
                cudaStream_t stream)
      : state(all),
        i(number),
        layer(all.layers[number]),
        transposed(layer.kind == Kind::transposed),
        of_images(all.of_images(number)),
        to_images(all.to_images(number)),
        sizes(sizes_of(layer, batch)),
        patches(patches_of(sizes, of_images || transposed)) {
    gradient = layer.kind == Kind::linear ? vectors(output_gradient, output_count(layer))
               : state.last(i)            ? view_of(output_gradient)
                                          : rows_of_channels(output_gradient, layer.height_out,
                                                             layer.width_out, layer.channels_out);
    from = of_images ? patches.view(input) : state.input_view(i, input);
    if (!to_images) return;
    // At the input's pixels, whichever way the convolution goes.
    unfolded = state.memory(patches.elements(), state.type());
    unfolded_view = patches.view(unfolded);
    (transposed ? unfold : unfold_transposed)(state.operand, sizes, gradient, unfolded.data_ptr(),
                                              patches.pitch, stream);
  }

  /// The gradients of weight and bias, on the side stream.
  void parameters(float* d_weight, float* d_bias) const {
    const Workspace workspace = state.side_memory.workspace();
    const cudaStream_t stream = state.side.stream();
    // A transposed convolution's input is the output of the plain one.
    const View& later = to_images ? unfolded_view : gradient;
    const bool apart = to_images || transposed;  // its bias is a sum of its own
    weight_gradient(state.operand, to_images || of_images ? patches.known : sizes,
                    transposed ? later : from, transposed ? from : later, d_weight,
                    apart ? nullptr : d_bias, workspace, stream);
    if (apart)
      channel_sums(state.operand, gradient, sizes.batch, whole(layer.height_out),
                   whole(layer.width_out), whole(layer.channels_out), d_bias, workspace, stream);
  }

  /// The gradient of its input. `filled` are the weights of a layer that makes images.
  void input(const Finish& finish, const torch::Tensor& filled, cudaStream_t stream) const {
    (transposed ? convolve : convolve_transposed)(state.operand, to_images ? patches.filled : sizes,
                                                  to_images ? unfolded_view : gradient,
                                                  to_images ? filled.data_ptr() : state.weights(i),
                                                  finish, state.main_memory.workspace(), stream);
  }
};

/// Where the gradients of the parameters go. The first pass writes them into .grad; a further one
/// writes beside it, and is added at the end.
class ParameterGradients {
 public:
  explicit ParameterGradients(StackState& state) : state_(state), adds_(state.written) {}

  float* target(const torch::Tensor& parameter) {
    if (!adds_) return parameter.grad().data_ptr<float>();
    beside_.emplace_back(parameter.grad(), torch::empty_like(parameter.grad()));
    return beside_.back().second.data_ptr<float>();
  }
  /// On the side stream, which then still reads what was written beside.
  void add() {
    const c10::cuda::CUDAStreamGuard guard(state_.side);
    for (const auto& [gradient, addend] : beside_) gradient.add_(addend);
    for (const auto& [gradient, addend] : beside_) state_.kept.push_back(addend);
    state_.written = true;
  }

 private:
  StackState& state_;
  bool adds_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> beside_;
};

/// The gradient of the stack's own input.
torch::Tensor first_input_gradient(const LayerBackward& first, const torch::Tensor& filled,
                                   cudaStream_t stream) {
  const StackLayer& layer = first.layer;
  const auto options = layer.bias.options().requires_grad(false);
  const int64_t batch = first.sizes.batch;
  const torch::Tensor gradient =
      layer.kind == Kind::linear
          ? torch::empty({batch, first.sizes.channels_in}, options)
          : torch::empty({batch, layer.channels_in, layer.height_in, layer.width_in}, options);
  Finish finish;
  finish.out = view_of(gradient);
  if (first.of_images)
    first.state.convolve_to_image(0, true, first.sizes, first.gradient, finish, stream);
  else
    first.input(finish, filled, stream);
  return gradient;
}

/// The gradient of a later layer's input, of the operand's type, where the ReLU before let it pass.
torch::Tensor inner_input_gradient(const LayerBackward& back, const torch::Tensor& filled,
                                   cudaStream_t stream) {
  const StackLayer& layer = back.layer;
  const int64_t count =
      int64_t{back.sizes.batch} * layer.channels_in * layer.height_in * layer.width_in;
  const torch::Tensor gradient = back.state.memory(count, back.state.type());
  Finish finish;
  finish.out = gradient_view(back.state, back.i, gradient);
  if (back.state.layers[back.i - 1].relu) finish.mask = back.from;
  back.input(finish, filled, stream);
  return gradient;
}

}  // namespace

torch::Tensor backward_pass(StackState& state, const torch::Tensor& output_gradient,
                            const std::vector<torch::Tensor>& saved, bool input_needs_gradient) {
  const c10::cuda::CUDAStream main = at::cuda::getCurrentCUDAStream();
  const int64_t batch = output_gradient.size(0);
  torch::Tensor current = state.layers.back().kind == Kind::linear
                              ? state.rounded(output_gradient.contiguous(), main.stream())
                              : output_gradient;
  ParameterGradients parameters(state);
  // Without its graph, which may hold this very state.
  const auto keep = [&](const torch::Tensor& tensor) { state.kept.push_back(tensor.detach()); };
  const torch::Tensor& filled = saved.back();
  torch::Tensor input_gradient;
  for (size_t i = state.layers.size(); i-- > 0;) {
    const StackLayer& layer = state.layers[i];
    const LayerBackward back(state, i, batch, current, saved[i], main.stream());
    keep(current);
    keep(saved[i]);
    if (back.unfolded.defined()) keep(back.unfolded);
    at::cuda::CUDAEvent ready;
    ready.record(main);
    ready.block(state.side);
    float* d_weight = parameters.target(layer.weight);
    back.parameters(d_weight, parameters.target(layer.bias));
    if (i > 0)
      current = inner_input_gradient(back, filled, main.stream());
    else if (input_needs_gradient)
      input_gradient = first_input_gradient(back, filled, main.stream());
  }
  parameters.add();
  state.side_busy = true;
  AT_CUDA_CHECK(cudaGetLastError());
  return input_gradient;
}

}  // namespace facet::cuda
