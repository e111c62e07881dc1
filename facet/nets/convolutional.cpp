#include "facet/nets/convolutional.h"

#include <cmath>

#include <fmt/format.h>

#include "facet/core/error.h"
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
      // For the demo: some 20 milliseconds a step on two cores.
      {"small32", {32, 64, 64}, {2, 2, 2}},
  };
  return all;
}

NetworkOptions resolve(const NetworkOptions& options) {
  NetworkOptions resolved = options;
  for (const Preset& preset : presets())
    if (options.preset == preset.name) {
      if (!options.channels.empty() || !options.strides.empty())
        throw Error(
            {.doing = "building the network",
             .object = options.preset,
             .found = "channels or strides beside a preset",
             .expected = "either of them, with \"preset\": \"custom\" for a stack of your own"});
      resolved.channels = preset.channels;
      resolved.strides = preset.strides;
    }
  return resolved;
}

int64_t padding_of(int64_t kernel) { return (kernel - 1) / 2; }

/// He's normal initialisation; the gain shrinks it for layers without a ReLU behind them.
void initialise(torch::Tensor weight, torch::Tensor bias, double fan_in, double gain,
                const Key& key) {
  torch::NoGradGuard no_gradient;
  weight.copy_(standard_normal(key, weight.sizes(), weight.options()) *
               (gain * std::sqrt(2.0 / fan_in)));
  bias.zero_();
}

std::shared_ptr<cuda::Stack> make_stack(std::vector<cuda::StackLayer> layers,
                                        const Shadows& shadows) {
  std::vector<torch::Tensor> copies;
  for (const cuda::StackLayer& layer : layers)
    if (shadows) copies.push_back(shadows(layer.weight));
  return std::make_shared<cuda::Stack>(std::move(layers), std::move(copies));
}

}  // namespace

void NetworkOptions::visit(OptionVisitor& visitor) {
  visitor.option("preset", preset,
                 "The paper's 28x28 or 64x64 network, a small one for 32x32, or 'custom'.",
                 one_of({"paper28", "paper64", "small32", "custom"}));
  visitor.option("channels", channels, "For 'custom': channels of the encoder's convolutions.",
                 at_least(1));
  visitor.option("strides", strides, "For 'custom': their strides, one a convolution.",
                 between(1, 8));
  visitor.option("kernel", kernel, "Side of the convolutions' kernels.", between(1, 15));
}

std::vector<ConvolutionLayer> convolution_layers(const NetworkOptions& options,
                                                 const ImageShape& shape) {
  const NetworkOptions resolved = resolve(options);
  if (resolved.channels.empty() || resolved.channels.size() != resolved.strides.size())
    throw Error({.doing = "building the network",
                 .object = options.preset,
                 .found = fmt::format("{} channels and {} strides", resolved.channels.size(),
                                      resolved.strides.size()),
                 .expected = "one of each for every convolution, at least one"});
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

EncoderImpl::EncoderImpl(const std::vector<ConvolutionLayer>& layers, int64_t outputs,
                         const Key& key)
    : shapes_(layers) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const ConvolutionLayer& layer = layers[i];
    torch::nn::Conv2d convolution(
        torch::nn::Conv2dOptions(layer.channels_in, layer.channels_out, layer.kernel)
            .stride(layer.stride)
            .padding(padding_of(layer.kernel)));
    initialise(convolution->weight, convolution->bias,
               static_cast<double>(layer.channels_in * layer.kernel * layer.kernel), 1.0,
               key.fold(i));
    convolutions_.push_back(register_module(fmt::format("convolution{}", i), convolution));
  }
  const ConvolutionLayer& last = layers.back();
  const int64_t features = last.channels_out * last.height_out * last.width_out;
  head_ = register_module("head", torch::nn::Linear(features, outputs));
  // A small head: the posterior starts near N(0, 1), where the first prior is.
  initialise(head_->weight, head_->bias, static_cast<double>(features), 0.5, key.fold("head"));
}

void EncoderImpl::accelerate(const Shadows& shadows) {
  using Kind = cuda::StackLayer::Kind;
  std::vector<cuda::StackLayer> layers;
  for (size_t i = 0; i < convolutions_.size(); ++i) {
    const ConvolutionLayer& shape = shapes_[i];
    layers.push_back({Kind::convolution, shape.channels_in, shape.height_in, shape.width_in,
                      shape.channels_out, shape.height_out, shape.width_out, shape.kernel,
                      shape.stride, padding_of(shape.kernel), true, convolutions_[i]->weight,
                      convolutions_[i]->bias});
  }
  const ConvolutionLayer& last = shapes_.back();
  layers.push_back({Kind::linear, last.channels_out, last.height_out, last.width_out,
                    head_->weight.size(0), 1, 1, 1, 1, 0, false, head_->weight, head_->bias});
  stack_ = make_stack(std::move(layers), shadows);
}

torch::Tensor EncoderImpl::forward(torch::Tensor x) {
  if (stack_) return stack_->forward(x);
  if (x.is_cpu()) x = channels_last(x);
  for (auto& convolution : convolutions_) x = convolution->forward(x).relu_();
  return head_->forward(x.flatten(1));
}

DecoderImpl::DecoderImpl(const std::vector<ConvolutionLayer>& layers, int64_t latents,
                         int64_t channels, const Key& key) {
  const ConvolutionLayer& deepest = layers.back();
  stem_shape_ = {deepest.channels_out, deepest.height_out, deepest.width_out};
  const int64_t features = stem_shape_[0] * stem_shape_[1] * stem_shape_[2];
  stem_ = register_module("stem", torch::nn::Linear(latents, features));
  initialise(stem_->weight, stem_->bias, static_cast<double>(latents), 1.0, key.fold("stem"));

  for (size_t i = layers.size(); i-- > 0;) {
    const ConvolutionLayer& mirrored = layers[i];
    const int64_t out = i == 0 ? channels : mirrored.channels_in;
    const int64_t kernel = mirrored.kernel, stride = mirrored.stride, padding = padding_of(kernel);
    const double gain = i == 0 ? std::sqrt(0.5) : 1.0;  // no ReLU behind the last layer
    const std::string name = fmt::format("convolution{}", layers.size() - 1 - i);
    Layer layer;
    layer.height = mirrored.height_in;
    layer.width = mirrored.width_in;
    if (stride == 1 && kernel % 2 == 1) {
      layer.plain = register_module(
          name, torch::nn::Conv2d(
                    torch::nn::Conv2dOptions(mirrored.channels_out, out, kernel).padding(padding)));
      initialise(layer.plain->weight, layer.plain->bias,
                 static_cast<double>(mirrored.channels_out * kernel * kernel), gain, key.fold(i));
    } else {
      const auto lost = [&](int64_t side_in, int64_t side_out) {
        return side_in - ((side_out - 1) * stride - 2 * padding + kernel);
      };
      layer.transposed = register_module(
          name, torch::nn::ConvTranspose2d(
                    torch::nn::ConvTranspose2dOptions(mirrored.channels_out, out, kernel)
                        .stride(stride)
                        .padding(padding)
                        .output_padding({lost(mirrored.height_in, mirrored.height_out),
                                         lost(mirrored.width_in, mirrored.width_out)})));
      // A pixel of the output hears kernel^2 / stride^2 pixels of the input.
      initialise(layer.transposed->weight, layer.transposed->bias,
                 static_cast<double>(mirrored.channels_out * kernel * kernel) /
                     static_cast<double>(stride * stride),
                 gain, key.fold(i));
    }
    layers_.push_back(layer);
  }
}

torch::Tensor DecoderImpl::Layer::forward(const torch::Tensor& x) {
  if (plain.is_empty()) {
    if (!x.is_cpu()) return transposed->forward(x);
    return transposed_convolution(x, transposed->weight, transposed->bias,
                                  transposed->options.stride()->at(0),
                                  padding_of(transposed->weight.size(2)), height, width);
  }
  if (x.is_cpu() && plain->weight.size(0) < narrow_channels)
    return narrow_convolution(x, plain->weight, plain->bias);
  return plain->forward(x);
}

void DecoderImpl::accelerate(const Shadows& shadows) {
  using Kind = cuda::StackLayer::Kind;
  int64_t channels = stem_shape_[0], height = stem_shape_[1], width = stem_shape_[2];
  std::vector<cuda::StackLayer> layers = {{Kind::linear, stem_->weight.size(1), 1, 1, channels,
                                           height, width, 1, 1, 0, true, stem_->weight,
                                           stem_->bias}};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const bool plain = !layer.plain.is_empty();
    const torch::Tensor weight = plain ? layer.plain->weight : layer.transposed->weight;
    const torch::Tensor bias = plain ? layer.plain->bias : layer.transposed->bias;
    const int64_t kernel = weight.size(2);
    layers.push_back({plain ? Kind::convolution : Kind::transposed, channels, height, width,
                      bias.size(0), layer.height, layer.width, kernel,
                      plain ? 1 : layer.transposed->options.stride()->at(0), padding_of(kernel),
                      i + 1 < layers_.size(), weight, bias});
    channels = bias.size(0);
    height = layer.height;
    width = layer.width;
  }
  stack_ = make_stack(std::move(layers), shadows);
}

torch::Tensor DecoderImpl::forward(const torch::Tensor& latents) {
  if (stack_) return stack_->forward(latents);
  torch::Tensor x =
      stem_->forward(latents).relu_().view({-1, stem_shape_[0], stem_shape_[1], stem_shape_[2]});
  if (x.is_cpu()) x = channels_last(x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i].forward(x);
    if (i + 1 < layers_.size()) x = x.relu_();
  }
  return x;
}

}  // namespace facet
