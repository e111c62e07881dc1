#include "facet/cuda/stack.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include "facet/core/torch.h"
#include "facet/cuda/convolution.h"
#include "facet/cuda/gpu.h"
#include "facet/cuda/own_stream.h"

namespace facet::cuda {

namespace {

using Kind = StackLayer::Kind;

int whole(int64_t number) { return static_cast<int>(number); }

int64_t next_multiple(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

/// Too few channels, or too odd a number of them, for 16-byte pieces of a row.
bool narrow(int64_t channels) { return channels % 8 != 0; }

View view_of(const torch::Tensor& image) {
  View view;
  view.data = image.data_ptr();
  view.single = image.scalar_type() == kFloat32;
  if (image.dim() == 2) {
    view.batch = whole(image.stride(0));
    view.channel = whole(image.stride(1));
  } else {
    view.batch = whole(image.stride(0));
    view.channel = whole(image.stride(1));
    view.row = whole(image.stride(2));
    view.column = whole(image.stride(3));
  }
  return view;
}

/// Activations [B, H, W, C] of the operand's type.
View rows_of_channels(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels) {
  View view;
  view.data = data.data_ptr();
  view.column = whole(channels);
  view.row = whole(width * channels);
  view.batch = whole(height * width * channels);
  return view;
}

/// Activations [B, C, H, W] of the operand's type, as a linear layer reads them.
View rows_of_features(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels) {
  View view;
  view.data = data.data_ptr();
  view.channel = whole(height * width);
  view.row = whole(width);
  view.column = 1;
  view.batch = whole(height * width * channels);
  return view;
}

/// Features in the order of channels, rows and columns that lie as [B, H, W, C].
View features_in_rows(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels) {
  View view;
  view.data = data.data_ptr();
  view.batch = whole(height * width * channels);
  view.channel = 1;
  view.channel_group = whole(height * width);
  view.within_group = whole(channels);
  return view;
}

/// Vectors [B, F] of the operand's type.
View vectors(const torch::Tensor& data, int64_t features) {
  View view;
  view.data = data.data_ptr();
  view.batch = whole(features);
  return view;
}

/// The convolution behind a layer: a transposed one is it backwards, a linear one has 1x1 images.
ConvolutionSizes sizes_of(const StackLayer& layer, int64_t batch) {
  if (layer.kind == Kind::linear)
    return {whole(batch),
            whole(layer.channels_in * layer.height_in * layer.width_in),
            1,
            1,
            whole(layer.channels_out * layer.height_out * layer.width_out),
            1,
            1,
            1,
            1,
            0};
  ConvolutionSizes sizes{whole(batch),           whole(layer.channels_in),  whole(layer.height_in),
                         whole(layer.width_in),  whole(layer.channels_out), whole(layer.height_out),
                         whole(layer.width_out), whole(layer.kernel),       whole(layer.stride),
                         whole(layer.padding)};
  if (layer.kind == Kind::transposed) {
    std::swap(sizes.channels_in, sizes.channels_out);
    std::swap(sizes.height_in, sizes.height_out);
    std::swap(sizes.width_in, sizes.width_out);
  }
  return sizes;
}

/// The convolution with a 1x1 kernel that patches of few channels make of another one. Patches are
/// filled up to whole stages of the kernels, and so are the weights that meet them.
struct Patches {
  bool of_x;
  ConvolutionSizes known;   ///< where only so many channels as the weights know count
  ConvolutionSizes filled;  ///< with weights that were filled up
  int count, pitch;         ///< of those channels
  int rows, columns;        ///< of the weights as a matrix
  int filled_rows, filled_columns;

  int64_t elements() const {
    return int64_t{filled.batch} * filled.height_in * filled.width_in * pitch;
  }
  View view(const torch::Tensor& data) const {
    return rows_of_channels(data, filled.height_in, filled.width_in, pitch);
  }
};

Patches patches_of(const ConvolutionSizes& sizes, bool of_x) {
  Patches patches;
  patches.of_x = of_x;
  const int taps = sizes.kernel * sizes.kernel;
  const int height = of_x ? sizes.height_out : sizes.height_in;
  const int width = of_x ? sizes.width_out : sizes.width_in;
  patches.count = taps * (of_x ? sizes.channels_in : sizes.channels_out);
  patches.pitch = whole(next_multiple(patches.count + 1, 32));
  patches.rows = of_x ? sizes.channels_out : patches.count;
  patches.columns = of_x ? patches.count : sizes.channels_in;
  patches.filled_rows = of_x ? sizes.channels_out : patches.pitch;
  patches.filled_columns = of_x ? patches.pitch : sizes.channels_in;
  patches.filled = {sizes.batch,
                    patches.filled_columns,
                    height,
                    width,
                    patches.filled_rows,
                    height,
                    width,
                    1,
                    1,
                    0};
  patches.known = patches.filled;
  patches.known.known_channels = patches.count;
  patches.known.known_side_out = !of_x;
  return patches;
}

/// A stream's memory for partial sums.
struct Room {
  torch::Tensor sums, counters;

  explicit Room(torch::Device device)
      : sums(torch::empty({static_cast<int64_t>(workspace_sums)},
                          torch::TensorOptions().dtype(kFloat32).device(device))),
        counters(torch::zeros({static_cast<int64_t>(workspace_counters)},
                              torch::TensorOptions().dtype(kInt32).device(device))) {}
  Workspace workspace() const { return {sums.data_ptr<float>(), counters.data_ptr<int>()}; }
};

}  // namespace

bool takes_stacks(torch::Device device) { return device.is_cuda() && runs_kernels(device); }

struct Stack::State {
  std::vector<StackLayer> layers;
  std::vector<torch::Tensor> shadows;
  Operand operand;
  Room room, side_room;
  OwnStream own_side;
  c10::cuda::CUDAStream side;
  std::vector<torch::Tensor> kept;  ///< what the side stream still reads
  bool side_busy = false, written = false;
  torch::Tensor anchor = torch::zeros({1}).requires_grad_();
  torch::Tensor patches_input, patches;  ///< of the last input, which a step encodes twice
  int64_t patches_version = 0;

  State(std::vector<StackLayer> all, std::vector<torch::Tensor> copies)
      : layers(std::move(all)),
        shadows(std::move(copies)),
        operand(shadows.empty() ? Operand::tf32 : Operand::bf16),
        room(layers.front().weight.device()),
        side_room(layers.front().weight.device()),
        own_side(layers.front().weight.device()),
        side(own_side.get()) {}

  const void* weights(size_t layer) const {
    return shadows.empty() ? layers[layer].weight.data_ptr() : shadows[layer].data_ptr();
  }
  torch::ScalarType type() const { return operand == Operand::bf16 ? torch::kBFloat16 : kFloat32; }
  torch::Tensor memory(int64_t count, torch::ScalarType scalar) const {
    return torch::empty(
        {count}, torch::TensorOptions().dtype(scalar).device(layers.front().weight.device()));
  }
  /// Layer i's weights, filled up for its patches.
  torch::Tensor filled_weights(size_t layer, const Patches& patches, cudaStream_t stream) const {
    const torch::Tensor filled =
        memory(int64_t{patches.filled_rows} * patches.filled_columns, type());
    fill_up(operand, weights(layer), patches.rows, patches.columns, filled.data_ptr(),
            patches.filled_rows, patches.filled_columns, stream);
    return filled;
  }
  /// Whether layer i reads images of few channels; makes such.
  bool of_images(size_t i) const {
    return i == 0 && layers[i].kind == Kind::convolution && narrow(layers[i].channels_in);
  }
  bool to_images(size_t i) const {
    return last(i) && layers[i].kind != Kind::linear && narrow(layers[i].channels_out);
  }
  bool last(size_t layer) const { return layer + 1 == layers.size(); }
  bool before_linear(size_t layer) const {
    return !last(layer) && layers[layer + 1].kind == Kind::linear;
  }
};

namespace {

int64_t output_count(const StackLayer& layer) {
  return layer.channels_out * layer.height_out * layer.width_out;
}

}  // namespace

/// One way forward and back through a stack.
struct Stack::Run : torch::autograd::Function<Run> {
  using Context = torch::autograd::AutogradContext;

  /// Where layer i's input lies: saved activations, or the stack's own input.
  static View input_view(const State& state, size_t i, const torch::Tensor& data) {
    const StackLayer& layer = state.layers[i];
    if (i == 0 && layer.kind != Kind::linear) return view_of(data);
    const int64_t features = layer.channels_in * layer.height_in * layer.width_in;
    return layer.kind == Kind::linear
               ? vectors(data, features)
               : rows_of_channels(data, layer.height_in, layer.width_in, layer.channels_in);
  }
  /// Where layer i's output goes.
  static View output_view(const State& state, size_t i, const torch::Tensor& data) {
    const StackLayer& layer = state.layers[i];
    const int64_t h = layer.height_out, w = layer.width_out, c = layer.channels_out;
    if (state.last(i)) return view_of(data);
    if (layer.kind == Kind::linear)
      return state.before_linear(i) ? vectors(data, h * w * c) : features_in_rows(data, h, w, c);
    return state.before_linear(i) ? rows_of_features(data, h, w, c)
                                  : rows_of_channels(data, h, w, c);
  }

  /// Vectors [B, N] as the operand's type, so that they can be copied in whole pieces.
  static torch::Tensor rounded(const State& state, const torch::Tensor& vectors,
                               cudaStream_t stream) {
    TORCH_INTERNAL_ASSERT(vectors.stride(1) == 1, "rows lie in one piece");
    const torch::Tensor result = state.memory(vectors.numel(), state.type());
    round_to_operand(state.operand, vectors.data_ptr<float>(), whole(vectors.size(0)),
                     whole(vectors.size(1)), whole(vectors.stride(0)), result.data_ptr(), stream);
    return result;
  }

  /// The first layer, whose images have few channels: the patches that it is computed from.
  static torch::Tensor convolve_image(State& state, const ConvolutionSizes& sizes,
                                      const torch::Tensor& input, const Finish& finish,
                                      cudaStream_t stream) {
    const Patches patches = patches_of(sizes, true);
    const bool known = state.patches_input.defined() && state.patches_input.is_same(input) &&
                       state.patches_version == static_cast<int64_t>(input._version());
    if (!known) {
      state.patches = state.memory(patches.elements(), state.type());
      unfold(state.operand, sizes, view_of(input), state.patches.data_ptr(), patches.pitch, stream);
      state.patches_input = input;
      state.patches_version = static_cast<int64_t>(input._version());
    }
    const torch::Tensor weights = state.filled_weights(0, patches, stream);
    convolve(state.operand, patches.filled, patches.view(state.patches), weights.data_ptr(), finish,
             state.room.workspace(), stream);
    return state.patches;
  }
  /// To images of few channels, by layer i's weights or transposed ones: the last layer's way
  /// forward, and the first one's way back. Gives the weights, filled up.
  static torch::Tensor convolve_to_image(const State& state, size_t i, bool transposed,
                                         const ConvolutionSizes& sizes, const View& from,
                                         const Finish& finish, cudaStream_t stream) {
    const Patches patches = patches_of(sizes, transposed);
    const torch::Tensor filled = state.filled_weights(i, patches, stream);
    const torch::Tensor products = state.memory(patches.elements(), kFloat32);
    Finish to_products;
    to_products.out = patches.view(products);
    to_products.out.single = true;
    (transposed ? convolve_transposed : convolve)(state.operand, patches.filled, from,
                                                  filled.data_ptr(), to_products,
                                                  state.room.workspace(), stream);
    (transposed ? fold_transposed : fold)(sizes, products.data_ptr<float>(), patches.pitch,
                                          finish.bias, finish.out, stream);
    return filled;
  }

  /// `anchor` needs a gradient and never gets one: with it the way back is recorded even where the
  /// input needs none, since parameters get theirs on the side.
  static torch::Tensor forward(Context* context, const torch::Tensor& input,
                               const torch::Tensor& /*anchor*/, Stack* stack) {
    State& state = *stack->state_;
    const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    const Workspace workspace = state.room.workspace();
    const int64_t batch = input.size(0);
    const StackLayer& end = state.layers.back();
    torch::Tensor output =
        end.kind == Kind::linear
            ? torch::empty({batch, output_count(end)}, input.options())
            : torch::empty({batch, end.channels_out, end.height_out, end.width_out},
                           input.options());
    torch::autograd::variable_list saved;
    torch::Tensor filled;  // the last layer's weights, where its output has few channels
    torch::Tensor current =
        state.layers.front().kind == Kind::linear ? rounded(state, input, stream) : input;
    for (size_t i = 0; i < state.layers.size(); ++i) {
      const StackLayer& layer = state.layers[i];
      const ConvolutionSizes sizes = sizes_of(layer, batch);
      const torch::Tensor next =
          state.last(i) ? output : state.memory(batch * output_count(layer), state.type());
      Finish finish;
      finish.out = output_view(state, i, next);
      finish.bias = layer.bias.data_ptr<float>();
      finish.relu = layer.relu;
      const View from = input_view(state, i, current);
      saved.push_back(current);
      if (state.of_images(i)) {
        saved.back() = convolve_image(state, sizes, input, finish, stream);
      } else if (state.to_images(i)) {
        filled = convolve_to_image(state, i, layer.kind == Kind::transposed, sizes, from, finish,
                                   stream);
      } else {
        (layer.kind == Kind::transposed ? convolve_transposed : convolve)(
            state.operand, sizes, from, state.weights(i), finish, workspace, stream);
      }
      current = next;
    }
    saved.push_back(filled);
    context->save_for_backward(saved);
    context->saved_data["stack"] = reinterpret_cast<int64_t>(stack);
    context->saved_data["input"] = input.requires_grad();
    AT_CUDA_CHECK(cudaGetLastError());
    return output;
  }

  /// Where the gradient of layer i's input goes: as the layer before it made that input.
  static View gradient_view(const State& state, size_t i, const torch::Tensor& data) {
    const StackLayer& layer = state.layers[i];
    const int64_t h = layer.height_in, w = layer.width_in, c = layer.channels_in;
    const bool from_linear = layer.kind == Kind::linear;
    const bool to_linear = state.layers[i - 1].kind == Kind::linear;
    if (from_linear && to_linear) return vectors(data, h * w * c);
    if (from_linear) return features_in_rows(data, h, w, c);
    return to_linear ? rows_of_features(data, h, w, c) : rows_of_channels(data, h, w, c);
  }

  /// One layer on the way back.
  struct LayerBack {
    const State& state;
    const size_t i;
    const StackLayer& layer;
    const bool transposed, of_images, to_images;
    const ConvolutionSizes sizes;
    const Patches patches;
    View gradient, from;     ///< of its output; its input, patches where it reads images
    torch::Tensor unfolded;  ///< patches of the gradient where it makes images
    View unfolded_view;

    LayerBack(const State& all, size_t number, int64_t batch, const torch::Tensor& output_gradient,
              const torch::Tensor& input, cudaStream_t stream)
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
      from = of_images ? patches.view(input) : input_view(state, i, input);
      if (!to_images) return;
      // At the input's pixels, whichever way the convolution goes.
      unfolded = state.memory(patches.elements(), state.type());
      unfolded_view = patches.view(unfolded);
      (transposed ? unfold : unfold_transposed)(state.operand, sizes, gradient, unfolded.data_ptr(),
                                                patches.pitch, stream);
    }

    /// On the side stream.
    void weights(float* d_weight, float* d_bias) const {
      const Workspace workspace = state.side_room.workspace();
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

    /// `filled` are the weights of a layer that makes images.
    void input(const Finish& finish, const torch::Tensor& filled, cudaStream_t stream) const {
      (transposed ? convolve : convolve_transposed)(
          state.operand, to_images ? patches.filled : sizes, to_images ? unfolded_view : gradient,
          to_images ? filled.data_ptr() : state.weights(i), finish, state.room.workspace(), stream);
    }
  };

  static torch::autograd::variable_list backward(Context* context,
                                                 torch::autograd::variable_list gradients) {
    State& state = *reinterpret_cast<Stack*>(context->saved_data["stack"].toInt())->state_;
    const bool input_needs_it = context->saved_data["input"].toBool();
    const auto saved = context->get_saved_variables();
    const c10::cuda::CUDAStream main = at::cuda::getCurrentCUDAStream();
    const int64_t batch = gradients[0].size(0);
    torch::Tensor current = state.layers.back().kind == Kind::linear
                                ? rounded(state, gradients[0].contiguous(), main.stream())
                                : gradients[0];
    const bool adds = state.written;
    std::vector<torch::Tensor> targets;  // a second way back writes beside, and is added
    const auto target = [&](const torch::Tensor& parameter) {
      if (!adds) return parameter.grad().data_ptr<float>();
      targets.push_back(torch::empty_like(parameter.grad()));
      return targets.back().data_ptr<float>();
    };
    const auto keep = [&](const torch::Tensor& tensor) { state.kept.push_back(tensor); };

    torch::Tensor input_gradient;
    for (size_t i = state.layers.size(); i-- > 0;) {
      const StackLayer& layer = state.layers[i];
      const LayerBack back(state, i, batch, current, saved[i], main.stream());
      keep(current);
      keep(saved[i]);
      if (back.unfolded.defined()) keep(back.unfolded);
      at::cuda::CUDAEvent ready;
      ready.record(main);
      ready.block(state.side);
      float* d_weight = target(layer.weight);
      back.weights(d_weight, target(layer.bias));

      if (i == 0 && !input_needs_it) break;
      Finish finish;
      if (i == 0) {
        const auto options = layer.bias.options().requires_grad(false);
        input_gradient =
            layer.kind == Kind::linear
                ? torch::empty({batch, back.sizes.channels_in}, options)
                : torch::empty({batch, layer.channels_in, layer.height_in, layer.width_in},
                               options);
        finish.out = view_of(input_gradient);
        if (back.of_images) {
          convolve_to_image(state, i, true, back.sizes, back.gradient, finish, main.stream());
          break;
        }
      } else {
        current = state.memory(batch * layer.channels_in * layer.height_in * layer.width_in,
                               state.type());
        finish.out = gradient_view(state, i, current);
        if (state.layers[i - 1].relu) finish.mask = back.from;
      }
      back.input(finish, saved.back(), main.stream());
    }
    if (adds) {
      const c10::cuda::CUDAStreamGuard guard(state.side);
      size_t at = 0;
      for (size_t i = state.layers.size(); i-- > 0;)
        for (const torch::Tensor& parameter : {state.layers[i].weight, state.layers[i].bias})
          parameter.grad().add_(targets[at++]);
      for (const torch::Tensor& used : targets) keep(used);
    }
    state.written = true;
    state.side_busy = true;
    AT_CUDA_CHECK(cudaGetLastError());
    return {input_gradient, torch::Tensor(), torch::Tensor()};
  }
};

Stack::Stack(std::vector<StackLayer> layers, std::vector<torch::Tensor> shadows)
    : state_(std::make_shared<State>(std::move(layers), std::move(shadows))) {}
Stack::~Stack() = default;

torch::Tensor Stack::forward(const torch::Tensor& input) {
  return Run::apply(input, state_->anchor, this);
}

void Stack::begin_gradients() { state_->written = false; }

void Stack::finish_gradients() {
  if (!state_->side_busy) return;
  at::cuda::CUDAEvent done;
  done.record(state_->side);
  done.block(at::cuda::getCurrentCUDAStream());
  state_->side_busy = false;
  state_->kept.clear();
}

}  // namespace facet::cuda
