#include "facet/eval/feature_network.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/augment.h"
#include "facet/nets/adam.h"

namespace facet {

namespace {

constexpr const char* feature_format = "facet-features-1";
constexpr int64_t projected_features = 64;
constexpr int64_t feature_batch = 500;

/// Convolutions that halve the image down to some four pixels per side, with twice the channels of
/// the layer before, up to 256.
NetworkOptions feature_layers(const ImageShape& shape) {
  NetworkOptions options{.preset = "custom", .channels = {}, .strides = {}, .kernel = 3};
  int64_t channels = 32;
  for (int64_t side = std::min(shape.height, shape.width); side > 4 || options.channels.empty();
       side = (side + 1) / 2) {
    options.channels.push_back(channels);
    options.strides.push_back(side > 4 ? 2 : 1);
    channels = std::min<int64_t>(2 * channels, 256);
  }
  return options;
}

torch::Tensor feature_units(const torch::Tensor& pixels) {
  return pixels.to(kFloat32).div_(127.5).sub_(1);
}

}  // namespace

torch::Tensor contrastive_loss(const torch::Tensor& one, const torch::Tensor& other,
                               double temperature) {
  torch::Tensor views = torch::cat({one, other});
  views = views / views.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-6);
  const int64_t count = one.size(0);
  const torch::Tensor self =
      torch::eye(2 * count, torch::TensorOptions().dtype(torch::kBool).device(views.device()));
  const torch::Tensor scores = (views.matmul(views.t()) / temperature).masked_fill(self, -1e9);
  const torch::Tensor partners = torch::arange(2 * count, self.options().dtype(kInt64)).roll(count);
  return torch::cross_entropy_loss(scores, partners);
}

FeatureNetwork::FeatureNetwork(const ImageShape& shape, const Key& key)
    : network_(convolution_layers(feature_layers(shape), shape), projected_features, key) {}

void FeatureNetwork::move_to(torch::Device device) {
  for (auto& [name, parameter] : network_.parameters()) parameter.set_data(parameter.to(device));
}

void FeatureNetwork::train(const ImageSet& images, const FeatureOptions& options) {
  const torch::Device device = images.labels.device();
  move_to(device);
  const Key key = Key(options.seed).fold("features");
  Batches batches(images, key, std::min(options.batch_size, images.count()));
  Adam adam(network_.parameters(), {});
  const Adam::Range all = adam.range_of(network_.parameters());
  for (int64_t step = 0; step < options.steps; ++step) {
    const Key own = key.fold("views").fold(static_cast<uint64_t>(step));
    const torch::Tensor pixels = batches.pixels(step);
    const auto view = [&](const char* which) {
      return network_.forward(feature_units(augment_sharply(pixels, own.fold(which))));
    };
    adam.zero_gradients();
    contrastive_loss(view("one"), view("other"), options.temperature).backward();
    adam.begin_step();
    const double progress = static_cast<double>(step) / static_cast<double>(options.steps);
    const double rate = options.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * progress));
    adam.update(all, torch::full({}, rate, torch::TensorOptions().dtype(kFloat64).device(device)),
                {});
  }
}

torch::Tensor layer_features(const Encoder& network, const ImageRows& pixels) {
  torch::NoGradGuard no_gradient;
  const torch::Device device = network.head().weight.device();
  std::vector<torch::Tensor> parts;
  pixels.for_each_slice(feature_batch, [&](const torch::Tensor& part) {
    parts.push_back(network.layer_means(feature_units(part.to(device))).to(kFloat64));
  });
  return torch::cat(parts);
}

torch::Tensor FeatureNetwork::features(const ImageRows& pixels) const {
  return layer_features(network_, pixels);
}

FeatureNetwork cached_feature_network(const std::filesystem::path& path, const ImageSet& images,
                                      const std::string& data, torch::Device device,
                                      const FeatureOptions& options,
                                      const std::function<void()>& training) {
  constexpr const char* doing = "reading the feature network";
  const std::string made_by = fmt::format("{}; {} steps of {}, seed {}", data, options.steps,
                                          options.batch_size, options.seed);
  FeatureNetwork network(images.pixels.shape(), Key(options.seed).fold("feature network"));
  if (std::filesystem::exists(path)) {
    const TensorFile file = read_safetensors(path, doing);
    const auto metadata = file.metadata;
    if (metadata.contains("format") && metadata.at("format") == feature_format &&
        metadata.contains("made_by") && metadata.at("made_by") == made_by) {
      torch::NoGradGuard no_gradient;
      for (const auto& [name, parameter] : network.parameters())
        parameter.copy_(file.get(name, kFloat32, parameter.sizes(), path.string()));
      network.move_to(device);
      return network;
    }
  }
  if (training) training();
  network.train(images, options);
  TensorFile file;
  for (const auto& [name, tensor] : network.parameters()) file.tensors[name] = tensor.detach();
  file.metadata = {{"format", feature_format}, {"made_by", made_by}};
  write_safetensors(path, file, "saving the feature network");
  return network;
}

}  // namespace facet
