// Encoder and decoder as ONNX graphs: the layers of nets/convolutional.h one by one, between
// pixels in [0, 1] and the likelihood's own units.
#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/export/onnx_graph.h"
#include "facet/export/onnx_model.h"

namespace facet {

namespace {

using Value = OnnxGraph::Value;

/// How a likelihood's units are related to pixels in [0, 1].
struct PixelUnits {
  const char* likelihood;
  /// Pixels in [0, 1] to the encoder's input.
  Value (*from_pixels)(OnnxGraph& graph, const Value& pixels);
  /// The decoder's output to nodes called "pixels" and "stddev".
  void (*to_pixels)(OnnxGraph& graph, const Value& output, const Vae& model);
};

Value float32_number(OnnxGraph& graph, double value) {
  return graph.scalar(value, OnnxType::float32);
}

Value bernoulli_from_pixels(OnnxGraph&, const Value& pixels) { return pixels; }

void bernoulli_to_pixels(OnnxGraph& graph, const Value& output, const Vae&) {
  graph.node("Sigmoid", {output}, {}, "pixels");
  // sqrt(p (1 - p)) = e / (1 + e^2) with e = exp(-|logit| / 2), in which no digits are lost where a
  // pixel is almost certain.
  const Value half = graph.node("Mul", {graph.node("Abs", {output}), float32_number(graph, -0.5)});
  const Value e = graph.node("Exp", {half});
  const Value sum = graph.node("Add", {graph.node("Mul", {e, e}), float32_number(graph, 1)});
  graph.node("Div", {e, sum}, {}, "stddev");
}

/// The likelihood's units are [-1, 1].
Value gaussian_from_pixels(OnnxGraph& graph, const Value& pixels) {
  const Value doubled = graph.node("Mul", {pixels, float32_number(graph, 2)});
  return graph.node("Sub", {doubled, float32_number(graph, 1)});
}

void gaussian_to_pixels(OnnxGraph& graph, const Value& output, const Vae& model) {
  const LikelihoodOptions& options = model.options().likelihood;
  const int64_t channels = model.shape().channels;
  const Value mean = graph.columns(output, 0, channels);
  const Value moved = graph.node("Add", {mean, float32_number(graph, 1)});
  graph.node("Mul", {moved, float32_number(graph, 0.5)}, {}, "pixels");
  const Value share = graph.node("Sigmoid", {graph.columns(output, channels, 2 * channels)});
  const double range = options.maximum_stddev - options.minimum_stddev;
  const Value above = graph.node("Mul", {share, float32_number(graph, 0.5 * range)});
  graph.node("Add", {above, float32_number(graph, 0.5 * options.minimum_stddev)}, {}, "stddev");
}

const PixelUnits& pixel_units(const std::string& likelihood) {
  static const std::vector<PixelUnits> all = {
      {"bernoulli", bernoulli_from_pixels, bernoulli_to_pixels},
      {"gaussian", gaussian_from_pixels, gaussian_to_pixels},
  };
  for (const PixelUnits& units : all)
    if (likelihood == units.likelihood) return units;
  throw Error({.doing = "exporting to ONNX",
               .object = "likelihood " + likelihood,
               .found = "no ONNX form of it",
               .expected = "bernoulli or gaussian"});
}

std::vector<int64_t> image_shape(const ImageShape& shape) {
  return {kOnnxBatch, shape.channels, shape.height, shape.width};
}

Value convolution(OnnxGraph& graph, const std::string& operation, const Value& x,
                  const LayerParameters& layer, int64_t stride, int64_t padding,
                  const std::vector<int64_t>& output_padding = {}) {
  const int64_t kernel = layer.weight.size(2);
  OnnxGraph::Attributes attributes = {
      {"kernel_shape", std::vector<int64_t>{kernel, kernel}},
      {"strides", std::vector<int64_t>{stride, stride}},
      {"pads", std::vector<int64_t>{padding, padding, padding, padding}}};
  if (!output_padding.empty()) attributes.emplace_back("output_padding", output_padding);
  return graph.node(operation, {x, graph.constant(layer.weight), graph.constant(layer.bias)},
                    attributes);
}

Value linear(OnnxGraph& graph, const Value& x, const torch::Tensor& weight,
             const torch::Tensor& bias, const std::string& name = "") {
  return graph.node("Gemm", {x, graph.constant(weight), graph.constant(bias)},
                    {{"transB", int64_t{1}}}, name);
}

Value decoder_layer(OnnxGraph& graph, const Value& x, const Decoder::Layer& layer, int64_t height,
                    int64_t width) {
  if (!layer.transposed)
    return convolution(graph, "Conv", x, layer.parameters, layer.stride, layer.padding);
  const int64_t kernel = layer.parameters.weight.size(2);
  const auto output_padding = [&](int64_t out, int64_t in) {
    return out - ((in - 1) * layer.stride - 2 * layer.padding + kernel);
  };
  return convolution(graph, "ConvTranspose", x, layer.parameters, layer.stride, layer.padding,
                     {output_padding(layer.height, height), output_padding(layer.width, width)});
}

}  // namespace

std::string encoder_onnx(const Vae& model, const OnnxMetadata& metadata) {
  OnnxGraph graph("encoder");
  const Encoder& encoder = model.encoder();
  const int64_t latents = model.prior.dimensions();
  const Value pixels = graph.input("pixels", OnnxType::float32, image_shape(model.shape()),
                                   "images, values from 0 to 1");
  Value x = pixel_units(model.options().likelihood.kind).from_pixels(graph, pixels);
  for (size_t i = 0; i < encoder.shapes().size(); ++i) {
    const ConvolutionLayer& shape = encoder.shapes()[i];
    x = convolution(graph, "Conv", x, encoder.convolutions()[i], shape.stride, shape.padding());
    x = graph.node("Relu", {x});
  }
  x = graph.node("Flatten", {x}, {{"axis", int64_t{1}}});
  // The first half of the head's rows gives means, the second log variances.
  const auto& [weight, bias] = encoder.head();
  const auto half = [&](int64_t first, const std::string& name) {
    return linear(graph, x, weight.narrow(0, first, latents), bias.narrow(0, first, latents), name);
  };
  const Value mean = half(0, "mean");
  const Value log_variance =
      graph.node("Clip",
                 {half(latents, ""), float32_number(graph, Vae::smallest_log_variance),
                  float32_number(graph, Vae::largest_log_variance)},
                 {}, "log_variance");
  graph.output(mean, OnnxType::float32, {kOnnxBatch, latents}, "the mean of q(z|x)");
  graph.output(log_variance, OnnxType::float32, {kOnnxBatch, latents},
               "the logarithms of the variances of q(z|x)");
  return graph.serialise("Images to their encodings q(z|x).", metadata);
}

std::string decoder_onnx(const Vae& model, const OnnxMetadata& metadata) {
  OnnxGraph graph("decoder");
  const Decoder& decoder = model.decoder();
  const Value z =
      graph.input("z", OnnxType::float32, {kOnnxBatch, model.prior.dimensions()}, "latent vectors");
  const std::vector<int64_t>& stem = decoder.stem_shape();
  Value x = graph.node("Relu", {linear(graph, z, decoder.stem().weight, decoder.stem().bias)});
  // A size of 0 keeps that of the input: the batch.
  x = graph.node("Reshape", {x, graph.integers({0, stem[0], stem[1], stem[2]})});
  int64_t height = stem[1], width = stem[2];
  for (size_t i = 0; i < decoder.layers().size(); ++i) {
    const Decoder::Layer& layer = decoder.layers()[i];
    x = decoder_layer(graph, x, layer, height, width);
    if (i + 1 < decoder.layers().size()) x = graph.node("Relu", {x});
    height = layer.height;
    width = layer.width;
  }
  pixel_units(model.options().likelihood.kind).to_pixels(graph, x, model);
  graph.output("pixels", OnnxType::float32, image_shape(model.shape()),
               "the mean of p(x|z), 0 is black and 1 is white");
  graph.output("stddev", OnnxType::float32, image_shape(model.shape()),
               "the standard deviation of p(x|z), in the same units");
  return graph.serialise("Latent vectors to images.", metadata);
}

}  // namespace facet
