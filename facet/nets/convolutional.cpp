#include "facet/nets/convolutional.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/nets/cpu_convolution.h"

namespace facet {

namespace {

struct Preset {
  const char* name;
  std::vector<int64_t> channels, strides;
};
const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = {
      // PixelVAE's network as the paper uses it, 28-14-7-4: 567,745 parameters with 64 latents.
      {"paper28", {32, 32, 32, 64, 64, 64, 64, 64}, {1, 2, 1, 2, 1, 2, 1, 1}},
      {"paper64", {128, 256, 512, 1024}, {2, 2, 2, 2}},
      // For the demo: about 20 milliseconds per step on two cores.
      {"small32", {32, 64, 64}, {2, 2, 2}},
  };
  return all;
}

/// The network of the preset 'auto': it halves the image while its shorter side keeps two pixels
/// and its longer side has more than four, with more channels for every second halving. For 32x32
/// images it is 'small32'. Models are saved with the name alone, so another rule needs another
/// name.
NetworkOptions network_for(const ImageShape& shape) {
  static const std::vector<int64_t> widths = {32, 64, 64, 128, 128};
  NetworkOptions network{"auto"};
  int64_t shorter = std::min(shape.height, shape.width),
          longer = std::max(shape.height, shape.width);
  do {
    network.channels.push_back(widths[std::min(network.channels.size(), widths.size() - 1)]);
    network.strides.push_back(longer > 4 && shorter > 2 ? 2 : 1);
    shorter = (shorter + 1) / 2;
    longer = (longer + 1) / 2;
  } while (longer > 4 && shorter > 2);
  return network;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names = {"auto"};
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  names.emplace_back("custom");
  return names;
}

/// The options with the channels and strides of their preset.
NetworkOptions resolve(NetworkOptions options, const ImageShape& shape) {
  if (options.preset == "custom") return options;
  if (!options.channels.empty() || !options.strides.empty())
    throw Error(
        {.doing = "building the network",
         .object = options.preset,
         .found = "channels or strides beside a preset",
         .expected = "either a preset, or \"preset\": \"custom\" with channels and strides"});
  const NetworkOptions automatic = network_for(shape);
  options.channels = automatic.channels;
  options.strides = automatic.strides;
  for (const Preset& preset : presets())
    if (options.preset == preset.name) {
      options.channels = preset.channels;
      options.strides = preset.strides;
    }
  return options;
}

int64_t padding_of(int64_t kernel) { return (kernel - 1) / 2; }

/// A layer with He's normal initialisation; a gain below 1 is for layers without a ReLU.
LayerParameters initial_layer(torch::IntArrayRef weight_shape, int64_t outputs, double fan_in,
                              double gain, const Key& key) {
  const torch::TensorOptions options(kFloat32);
  const torch::Tensor weight =
      standard_normal(key, weight_shape, options) * (gain * std::sqrt(2.0 / fan_in));
  return {weight.requires_grad_(), torch::zeros({outputs}, options).requires_grad_()};
}

void append(NamedTensors& tensors, const std::string& layer, const LayerParameters& parameters) {
  tensors.emplace_back(layer + ".weight", parameters.weight);
  tensors.emplace_back(layer + ".bias", parameters.bias);
}

std::shared_ptr<cuda::Stack> make_stack(std::vector<cuda::StackLayer> layers,
                                        const Bf16Copies& bf16_copies) {
  if (!cuda::kernels_available(layers.front().weight.device())) return nullptr;
  std::vector<torch::Tensor> copies;
  for (const cuda::StackLayer& layer : layers)
    if (bf16_copies) copies.push_back(bf16_copies(layer.weight));
  return std::make_shared<cuda::Stack>(std::move(layers), std::move(copies));
}

}  // namespace

int64_t ConvolutionLayer::padding() const { return padding_of(kernel); }

void NetworkOptions::visit(OptionVisitor& visitor) {
  visitor.option("preset", preset,
                 "One that follows from the images' size, the paper's for 28x28 or 64x64 images, a "
                 "small one for 32x32, or 'custom'.",
                 one_of(preset_names()));
  visitor.option("channels", channels, "For 'custom': channels of the encoder's convolutions.",
                 at_least(1));
  visitor.option("strides", strides, "For 'custom': the stride of every convolution.",
                 between(1, 8));
  visitor.option("kernel", kernel, "Width and height of the convolutions' kernels.",
                 between(1, 15));
}

std::vector<ConvolutionLayer> convolution_layers(const NetworkOptions& options,
                                                 const ImageShape& shape) {
  const NetworkOptions resolved = resolve(options, shape);
  if (resolved.channels.empty() || resolved.channels.size() != resolved.strides.size())
    throw Error({.doing = "building the network",
                 .object = options.preset,
                 .found = fmt::format("{} channels and {} strides", resolved.channels.size(),
                                      resolved.strides.size()),
                 .expected = "one of each per convolution, and at least one convolution"});
  std::vector<ConvolutionLayer> layers;
  int64_t channels = shape.channels, height = shape.height, width = shape.width;
  const int64_t kernel = resolved.kernel, padding = padding_of(kernel);
  for (size_t i = 0; i < resolved.channels.size(); ++i) {
    const int64_t stride = resolved.strides[i];
    const auto shrink = [&](int64_t side) {
      return side + 2 * padding < kernel ? 0 : (side + 2 * padding - kernel) / stride + 1;
    };
    const ConvolutionLayer layer{channels, resolved.channels[i], stride,       kernel, height,
                                 width,    shrink(height),       shrink(width)};
    if (layer.height_out < 1 || layer.width_out < 1 || kernel < stride)
      throw Error({.doing = "building the network",
                   .object = fmt::format("convolution {}", i),
                   .found = fmt::format("{}x{} pixels under a kernel of {} and stride {}", height,
                                        width, kernel, stride),
                   .expected = "a kernel that fits and is no smaller than the stride"});
    layers.push_back(layer);
    channels = layer.channels_out;
    height = layer.height_out;
    width = layer.width_out;
  }
  return layers;
}

int64_t widest_activations(const std::vector<ConvolutionLayer>& layers, int64_t decoder_channels) {
  int64_t widest = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const ConvolutionLayer& layer = layers[i];
    const int64_t channels =
        i == 0 ? std::max(layer.channels_in, decoder_channels) : layer.channels_in;
    widest = std::max(widest, channels * layer.height_in * layer.width_in +
                                  layer.channels_out * layer.height_out * layer.width_out);
  }
  return widest;
}

int64_t largest_tensor(const std::vector<ConvolutionLayer>& layers, int64_t decoder_channels) {
  const ConvolutionLayer& images = layers.front();
  const int64_t patch =
      images.kernel * images.kernel * std::max(images.channels_in, decoder_channels);
  constexpr int64_t padding = 32;
  int64_t largest = images.height_in * images.width_in * (patch + padding);
  for (const ConvolutionLayer& layer : layers)
    largest = std::max(largest, layer.channels_out * layer.height_out * layer.width_out);
  return largest;
}

Encoder::Encoder(const std::vector<ConvolutionLayer>& layers, int64_t outputs, const Key& key)
    : shapes_(layers) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& [in, out, stride, kernel, height_in, width_in, height_out, width_out] = layers[i];
    convolutions_.push_back(initial_layer({out, in, kernel, kernel}, out,
                                          static_cast<double>(in * kernel * kernel), 1.0,
                                          key.fold(i)));
  }
  const ConvolutionLayer& last = layers.back();
  const int64_t features = last.channels_out * last.height_out * last.width_out;
  // A small head: q(z|x) starts near N(0, I), the prior of the first phase.
  head_ = initial_layer({outputs, features}, outputs, static_cast<double>(features), 0.5,
                        key.fold("head"));
}

NamedTensors Encoder::parameters() const {
  NamedTensors tensors;
  for (size_t i = 0; i < convolutions_.size(); ++i)
    append(tensors, fmt::format("convolution{}", i), convolutions_[i]);
  append(tensors, "head", head_);
  return tensors;
}

void Encoder::accelerate(const Bf16Copies& bf16_copies) {
  using Kind = cuda::StackLayer::Kind;
  std::vector<cuda::StackLayer> layers;
  for (size_t i = 0; i < convolutions_.size(); ++i) {
    const ConvolutionLayer& shape = shapes_[i];
    layers.push_back({Kind::convolution, shape.channels_in, shape.height_in, shape.width_in,
                      shape.channels_out, shape.height_out, shape.width_out, shape.kernel,
                      shape.stride, shape.padding(), true, convolutions_[i].weight,
                      convolutions_[i].bias});
  }
  const ConvolutionLayer& last = shapes_.back();
  layers.push_back({Kind::linear, last.channels_out, last.height_out, last.width_out,
                    head_.weight.size(0), 1, 1, 1, 1, 0, false, head_.weight, head_.bias});
  stack_ = make_stack(std::move(layers), bf16_copies);
}

torch::Tensor Encoder::forward(torch::Tensor x) const {
  if (stack_) return stack_->forward(x);
  if (x.is_cpu()) x = channels_last(x);
  for (size_t i = 0; i < convolutions_.size(); ++i) {
    const int64_t stride = shapes_[i].stride, padding = shapes_[i].padding();
    x = torch::conv2d(x, convolutions_[i].weight, convolutions_[i].bias, stride, padding).relu_();
  }
  return torch::linear(x.flatten(1), head_.weight, head_.bias);
}

torch::Tensor Encoder::layer_means(torch::Tensor x) const {
  std::vector<torch::Tensor> means;
  if (x.is_cpu()) x = channels_last(x);
  for (size_t i = 0; i < convolutions_.size(); ++i) {
    const int64_t stride = shapes_[i].stride, padding = shapes_[i].padding();
    x = torch::conv2d(x, convolutions_[i].weight, convolutions_[i].bias, stride, padding).relu_();
    means.push_back(x.mean({2, 3}));
  }
  return torch::cat(means, 1);
}

Decoder::Decoder(const std::vector<ConvolutionLayer>& layers, int64_t latents, int64_t channels,
                 const Key& key) {
  const ConvolutionLayer& deepest = layers.back();
  stem_shape_ = {deepest.channels_out, deepest.height_out, deepest.width_out};
  const int64_t features = stem_shape_[0] * stem_shape_[1] * stem_shape_[2];
  stem_ = initial_layer({features, latents}, features, static_cast<double>(latents), 1.0,
                        key.fold("stem"));
  for (size_t i = layers.size(); i-- > 0;) {
    const ConvolutionLayer& mirrored = layers[i];
    const int64_t in = mirrored.channels_out, out = i == 0 ? channels : mirrored.channels_in;
    const int64_t kernel = mirrored.kernel, stride = mirrored.stride;
    const bool transposed = stride != 1 || kernel % 2 == 0;
    const double gain = i == 0 ? std::sqrt(0.5) : 1.0;  // no ReLU follows the last layer
    const auto taps = static_cast<double>(in * kernel * kernel);
    // In a transposed convolution an output pixel depends on kernel^2 / stride^2 input pixels.
    const double fan_in = transposed ? taps / static_cast<double>(stride * stride) : taps;
    const std::vector<int64_t> shape =
        transposed ? std::vector{in, out, kernel, kernel} : std::vector{out, in, kernel, kernel};
    layers_.push_back({initial_layer(shape, out, fan_in, gain, key.fold(i)), transposed, stride,
                       padding_of(kernel), mirrored.height_in, mirrored.width_in});
  }
}

NamedTensors Decoder::parameters() const {
  NamedTensors tensors;
  append(tensors, "stem", stem_);
  for (size_t i = 0; i < layers_.size(); ++i)
    append(tensors, fmt::format("convolution{}", i), layers_[i].parameters);
  return tensors;
}

torch::Tensor Decoder::Layer::forward(const torch::Tensor& x) const {
  const auto& [weight, bias] = parameters;
  if (transposed && x.is_cpu())
    return transposed_convolution(x, weight, bias, stride, padding, height, width);
  if (transposed) {
    const auto output_padding = [&](int64_t out, int64_t in) {
      return out - ((in - 1) * stride - 2 * padding + weight.size(2));
    };
    return torch::conv_transpose2d(
        x, weight, bias, stride, padding,
        {output_padding(height, x.size(2)), output_padding(width, x.size(3))});
  }
  if (x.is_cpu() && weight.size(0) < narrow_channels) return narrow_convolution(x, weight, bias);
  return torch::conv2d(x, weight, bias, stride, padding);
}

void Decoder::accelerate(const Bf16Copies& bf16_copies) {
  using Kind = cuda::StackLayer::Kind;
  int64_t channels = stem_shape_[0], height = stem_shape_[1], width = stem_shape_[2];
  std::vector<cuda::StackLayer> layers = {{Kind::linear, stem_.weight.size(1), 1, 1, channels,
                                           height, width, 1, 1, 0, true, stem_.weight, stem_.bias}};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto& [parameters, transposed, stride, padding, layer_height, layer_width] = layers_[i];
    const int64_t out = parameters.bias.size(0);
    layers.push_back({transposed ? Kind::transposed : Kind::convolution, channels, height, width,
                      out, layer_height, layer_width, parameters.weight.size(2), stride, padding,
                      i + 1 < layers_.size(), parameters.weight, parameters.bias});
    channels = out;
    height = layer_height;
    width = layer_width;
  }
  stack_ = make_stack(std::move(layers), bf16_copies);
}

torch::Tensor Decoder::forward(const torch::Tensor& latents) const {
  if (stack_) return stack_->forward(latents);
  torch::Tensor x = torch::linear(latents, stem_.weight, stem_.bias)
                        .relu_()
                        .view({-1, stem_shape_[0], stem_shape_[1], stem_shape_[2]});
  if (x.is_cpu()) x = channels_last(x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i].forward(x);
    if (i + 1 < layers_.size()) x = x.relu_();
  }
  return x;
}

}  // namespace facet
