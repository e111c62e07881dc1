#include "facet/model/model_file.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/model/shape_options.h"
#include "facet/nets/convolutional.h"

namespace facet {

namespace {

constexpr const char* format_name = "facet-model-1";

void require_finite(const torch::Tensor& tensor, const std::string& name,
                    const std::string& object) {
  if (!torch::isfinite(tensor).all().item<bool>())
    throw Error({.doing = fmt::format("reading tensor '{}' of", name),
                 .object = object,
                 .found = "NaN or infinite values",
                 .expected = "finite values",
                 .cause = "did training diverge? Go back to an earlier checkpoint"});
}

/// A file that says of itself that it has larger networks than it has: they must not be allocated.
void require_network_in(const TensorFile& file, const ModelOptions& options,
                        const ImageShape& shape, const std::string& object) {
  double stored = 0, needed = 0, latents = 0;
  for (const auto& [name, tensor] : file.tensors) stored += static_cast<double>(tensor.numel());
  for (const FactorOptions& factor : options.factors)
    latents += static_cast<double>(factor.dimensions);
  double features = 0;
  for (const ConvolutionLayer& layer : convolution_layers(options.network, shape)) {
    const auto in = static_cast<double>(layer.channels_in),
               out = static_cast<double>(layer.channels_out),
               kernel = static_cast<double>(layer.kernel);
    needed += in * out * kernel * kernel;
    features = out * static_cast<double>(layer.height_out) * static_cast<double>(layer.width_out);
  }
  needed += features * latents;
  if (options.prior == "vamp")  // whose components are images
    for (const FactorOptions& factor : options.factors)
      needed += static_cast<double>(factor.components) * static_cast<double>(shape.channels) *
                static_cast<double>(shape.height) * static_cast<double>(shape.width);
  if (needed > stored)
    Attempt{"reading a model", object}.fail(
        fmt::format("{:.0f} numbers", stored),
        fmt::format("at least the {:.3g} of the layers that its metadata describe", needed),
        "is the file damaged?");
}

}  // namespace

void store_model(const Vae& model, TensorFile& file) {
  for (const auto& [name, tensor] : model.parameters()) file.tensors[name] = tensor;
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const FactorPosterior& posterior = model.prior.posteriors[i];
    const NormalGamma mean = posterior.mean();
    const std::string prefix = fmt::format("prior.{}.", model.prior.factors[i].name);
    file.tensors[prefix + "m"] = mean.m;
    file.tensors[prefix + "s"] = mean.s;
    file.tensors[prefix + "a"] = mean.a;
    file.tensors[prefix + "b"] = mean.b;
    file.tensors[prefix + "c"] = posterior.counts;
    for (const auto& [name, tensor] : model.prior.hyperpriors[i].tensors())
      file.tensors[prefix + name] = tensor;
  }
}

void restore_model(Vae& model, const TensorFile& file, const std::string& object) {
  torch::NoGradGuard no_gradient;
  for (const auto& [name, parameter] : model.parameters()) {
    const torch::Tensor& stored = file.get_weight(name, parameter.sizes(), object);
    require_finite(stored, name, object);
    parameter.copy_(stored);
  }
  const torch::Device device = model.device();
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const FactorOptions& factor = model.prior.factors[i];
    const auto read = [&](const std::string& letter, torch::IntArrayRef shape) {
      const std::string name = fmt::format("prior.{}.{}", factor.name, letter);
      const torch::Tensor& stored = file.get(name, kFloat64, shape, object);
      require_finite(stored, name, object);
      if (letter != "m" && letter != "m0" && !stored.gt(0).all().item<bool>())
        throw Error({.doing = fmt::format("reading tensor '{}' of", name),
                     .object = object,
                     .found = "values at or below zero",
                     .expected = "positive values",
                     .cause = "is the file damaged?"});
      return stored.to(device);
    };
    const std::vector<int64_t> shape = {factor.components, factor.dimensions};
    model.prior.posteriors[i].assign(FactorPosterior::from_mean(
        {read("m", shape), read("s", shape), read("a", shape), read("b", shape)},
        read("c", {factor.components})));
    // Files of version 0.1 have no learned hyperprior: the options' numbers hold.
    for (const auto& [name, tensor] : model.prior.hyperpriors[i].tensors())
      if (file.tensors.contains(fmt::format("prior.{}.{}", factor.name, name)))
        tensor.copy_(read(name, tensor.sizes()));
  }
}

void write_model(const std::filesystem::path& path, const Vae& model, torch::ScalarType weights) {
  TensorFile file;
  store_model(model, file);
  for (const auto& [name, tensor] : model.parameters())
    file.tensors[name] = tensor.detach().to(weights);
  const ShapeOptions shape(model.shape());
  file.metadata = {{"format", format_name},
                   {"model", write_options(model.options()).dump()},
                   {"shape", write_options(shape).dump()}};
  write_safetensors(path, file, "saving the model");
}

std::shared_ptr<Vae> read_model(const std::filesystem::path& path) {
  const std::string object = path.string();
  const TensorFile file = read_safetensors(path, "reading a model");
  const auto metadata = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  if (metadata("format") != format_name)
    throw Error({.doing = "reading a model",
                 .object = object,
                 .found = fmt::format("format '{}'", metadata("format")),
                 .expected = fmt::format("'{}'", format_name),
                 .cause = "is this a pack or a training state?"});
  ModelOptions options;
  ShapeOptions shape;
  read_options(options, parse_config(metadata("model"), object), object, OldNames::accept);
  read_options(shape, parse_config(metadata("shape"), object), object);
  // Checked before anything of these sizes is allocated.
  for (const FactorOptions& factor : options.factors)
    file.get(fmt::format("prior.{}.m", factor.name), kFloat64,
             {factor.components, factor.dimensions}, object);
  require_network_in(file, options, shape.shape(), object);
  auto model = std::make_shared<Vae>(options, shape.shape(), Key(0));
  restore_model(*model, file, object);
  return model;
}

}  // namespace facet
