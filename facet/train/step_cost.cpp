#include "facet/train/step_cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/memory.h"
#include "facet/cuda/cuda_graph.h"
#include "facet/data/pack.h"
#include "facet/model/likelihood.h"
#include "facet/nets/convolutional.h"

namespace facet {

namespace {

/// The cost of the networks per image.
struct NetworkCost {
  double encoder = 0, decoder = 0;                        ///< operations of the forward pass
  double first_layer = 0;                                 ///< those of the encoder's first layer
  double encoder_parameters = 0, decoder_parameters = 0;  ///< their number
  double activations = 0;                                 ///< outputs of all layers, their number
  double widest = 0;  ///< input and output of one layer, at most
};

NetworkCost network_cost(const ModelOptions& model, const ImageShape& shape) {
  NetworkCost cost;
  const auto layers = convolution_layers(model.network, shape);
  const int64_t values = make_likelihood(model.likelihood)->numbers_per_value();
  double latents = 0;
  for (const FactorOptions& factor : model.factors)
    latents += static_cast<double>(factor.dimensions);
  for (size_t i = 0; i < layers.size(); ++i) {
    const ConvolutionLayer& layer = layers[i];
    const auto kernel = static_cast<double>(layer.kernel * layer.kernel);
    const auto in = static_cast<double>(layer.channels_in),
               out = static_cast<double>(layer.channels_out);
    const auto small = static_cast<double>(layer.height_out * layer.width_out),
               large = static_cast<double>(layer.height_in * layer.width_in);
    // The mirrored layer of the decoder has the input of this one as its output; a transposed
    // convolution multiplies once per input pixel.
    const double mirrored = i == 0 ? static_cast<double>(shape.channels * values) : in;
    cost.encoder += 2 * in * out * kernel * small;
    cost.decoder += 2 * mirrored * out * kernel * small;
    if (i == 0) cost.first_layer = cost.encoder;
    cost.encoder_parameters += out * (in * kernel + 1);
    cost.decoder_parameters += mirrored * (out * kernel + 1);
    cost.activations += out * small + mirrored * large;
  }
  cost.widest = static_cast<double>(widest_activations(layers, shape.channels * values));
  const ConvolutionLayer& last = layers.back();
  const double features = static_cast<double>(last.channels_out) *
                          static_cast<double>(last.height_out * last.width_out);
  cost.encoder += 2 * features * 2 * latents;
  cost.decoder += 2 * latents * features;
  cost.encoder_parameters += 2 * latents * (features + 1);
  cost.decoder_parameters += features * (latents + 1);
  cost.activations += 3 * latents + features;
  return cost;
}

/// The number of natural parameters of all factors.
double prior_numbers(const ModelOptions& model) {
  double numbers = 0;
  for (const FactorOptions& factor : model.factors)
    numbers +=
        static_cast<double>(factor.components) * (4 * static_cast<double>(factor.dimensions) + 1);
  return numbers;
}

}  // namespace

StepCost joint_step_cost(const ModelOptions& model, const ImageShape& shape, int64_t batch) {
  const auto images = static_cast<double>(batch);
  const NetworkCost network = network_cost(model, shape);
  StepCost cost;
  // The backward pass of a layer costs two forward passes, for the gradients of its input and of
  // its weights; the image needs no gradient. Then the updated encoder runs forward once more.
  cost.network_operations =
      images * (3 * (network.encoder + network.decoder) - network.first_layer + network.encoder);
  // Two matrix products each for the first E-step, its gradient, the second E-step, the statistics.
  for (const FactorOptions& factor : model.factors)
    cost.prior_operations +=
        16 * images * static_cast<double>(factor.components * factor.dimensions);
  // Float32: weights read forward and backward, gradients written; Adam reads four numbers per
  // parameter and writes three; the encoder's second pass reads its weights again.
  const double parameters = network.encoder_parameters + network.decoder_parameters;
  cost.parameter_bytes = 4 * ((1 + 1 + 1 + 7) * parameters + network.encoder_parameters);
  cost.pixel_bytes = images * static_cast<double>(shape.channels * shape.height * shape.width);
  cost.prior_bytes = 3 * 8 * prior_numbers(model);
  return cost;
}

double training_memory(const Config& config, const Pack& pack, torch::Device device) {
  constexpr double libraries = 600e6;  // their code, workspaces and captured graphs
  const ImageShape shape = pack.shape();
  const NetworkCost network = network_cost(config.model, shape);
  const double parameters = network.encoder_parameters + network.decoder_parameters;
  double latents = 0, components = 0;
  for (const FactorOptions& factor : config.model.factors) {
    latents += static_cast<double>(factor.dimensions);
    components += static_cast<double>(factor.components);
  }
  const auto encoded = static_cast<double>(
      config.train.initialise.images == 0 ? pack.count() : config.train.initialise.images);
  // Evaluations have 500 images at once, or as many as fit into half a gigabyte (model/vae.h).
  const double evaluation = 2 * std::min(4 * 500 * network.widest, 0.54e9);
  const auto parts = static_cast<double>(std::max<int64_t>(1, config.train.batch_parts));
  const double step =  // with gradients and workspace
      3 * 4 * static_cast<double>(config.train.batch_size) / parts * network.activations;
  const bool mapped =
      device.is_cpu() && !config.data.pack.empty() && config.data.binarize != "fixed";
  const auto images = mapped ? 0.0 : static_cast<double>(pack.count() * pack.images.image_bytes());
  return 5 * 4 * parameters +  // with gradient, moments and a copy
         std::max(step, evaluation) +
         2 * 2 * 8 * encoded * latents +  // encodings of phase 2, and a copy
         3 * 8 * prior_numbers(config.model) +
         4 * 8 * static_cast<double>(config.train.batch_size) * components +  // responsibilities
         images + libraries;
}

void require_memory(const Config& config, const Pack& pack, torch::Device device) {
  const double images = static_cast<double>(pack.count()) * pack.images.image_bytes();
  // Images that do not fit on a GPU are sent batch by batch.
  const double needed = training_memory(config, pack, device) - (device.is_cpu() ? 0 : images);
  const double there =
      device.is_cpu() ? memory_limit() : static_cast<double>(cuda::free_memory(device));
  if (needed > there)
    Attempt{"training a model of this config"}.fail(
        fmt::format("a need of about {:.3g} GB of memory on {}", needed / 1e9, device.str()),
        fmt::format("at most the {:.3g} GB there", there / 1e9),
        "fewer components, dimensions or channels, or train.batch_parts, need less");
}

}  // namespace facet
