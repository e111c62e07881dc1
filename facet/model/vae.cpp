#include "facet/model/vae.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "facet/core/torch.h"
#include "facet/ops/latent.h"

namespace facet {

namespace {

/// Our kernels count the numbers of a tensor in 32 bits.
constexpr int64_t most_numbers = std::numeric_limits<int32_t>::max();

}  // namespace

torch::Tensor Encoding::variance() const { return torch::exp(log_variance); }

torch::Tensor Encoding::entropy() const {
  return 0.5 *
         (log_variance.to(kFloat64) + std::log(2.0 * std::numbers::pi * std::numbers::e)).sum(1);
}

torch::Tensor Encoding::sample(const Key& key) const {
  return ops::sample_latent(mean, log_variance, key);
}

Vae::Vae(const ModelOptions& options, const ImageShape& shape, const Key& key)
    : prior(options.factors, options.hyperprior, torch::kCPU, options.stick_breaking()),
      options_(options),
      shape_(shape),
      likelihood_(make_likelihood(options.likelihood)),
      encoder_(convolution_layers(options.network, shape), 2 * prior.dimensions(),
               key.fold("encoder")),
      decoder_(convolution_layers(options.network, shape), prior.dimensions(),
               shape.channels * likelihood_->numbers_per_value(), key.fold("decoder")),
      strategy_(make_prior_strategy(options, shape)) {}

NamedTensors Vae::parameters() const {
  NamedTensors all;
  const auto add = [&](const std::string& part, const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) all.emplace_back(part + "." + name, tensor);
  };
  add("encoder", encoder_.parameters());
  add("decoder", decoder_.parameters());
  for (const auto& entry : strategy_->own_parameters()) all.push_back(entry);
  return all;
}

Encoding Vae::encode(const torch::Tensor& x) const {
  const auto [mean, log_variance] =
      ops::split_encoding(encoder_.forward(x), smallest_log_variance, largest_log_variance);
  return {mean, log_variance};
}

std::pair<Encoding, torch::Tensor> Vae::encode_and_sample(const torch::Tensor& x,
                                                          const Key& noise) const {
  const auto [mean, log_variance, z] =
      ops::draw_encoding(encoder_.forward(x), smallest_log_variance, largest_log_variance, noise);
  return {{mean, log_variance}, z};
}

torch::Tensor Vae::decode(const torch::Tensor& z) const {
  return decoder_.forward(z.to(decoder_.stem().weight.scalar_type()).contiguous());
}

torch::Device Vae::device() const { return encoder_.head().weight.device(); }

void Vae::move_to(torch::Device device) {
  for (auto& [name, parameter] : parameters()) parameter.set_data(parameter.to(device));
  prior.to(device);
}

int64_t Vae::network_parameters() const {
  int64_t count = 0;
  for (const auto& [name, parameter] : parameters()) count += parameter.numel();
  return count;
}

int64_t Vae::images_at_once(int64_t most, int64_t bytes) const {
  const auto layers = convolution_layers(options_.network, shape_);
  const int64_t channels = shape_.channels * likelihood_->numbers_per_value();
  const int64_t fitting = bytes / (4 * widest_activations(layers, channels)),
                countable = most_numbers / largest_tensor(layers, channels);
  return std::clamp<int64_t>(std::min(fitting, countable), 1, most);
}

void Vae::accelerate(const Bf16Copies& bf16_copies) {
  encoder_.accelerate(bf16_copies);
  decoder_.accelerate(bf16_copies);
}

void Vae::begin_gradients() {
  encoder_.stack()->begin_gradients();
  decoder_.stack()->begin_gradients();
  // LibTorch accumulates the gradients of the prior's own parameters.
  for (auto& [name, parameter] : strategy_->own_parameters()) parameter.mutable_grad().zero_();
}

void Vae::finish_gradients() {
  encoder_.stack()->finish_gradients();
  decoder_.stack()->finish_gradients();
}

void Vae::change_coordinates(const Coordinates& coordinates, const torch::Tensor& log_variance) {
  torch::NoGradGuard no_gradient;
  const int64_t latents = prior.dimensions();
  const torch::Tensor transform = coordinates.transform, centre = coordinates.centre;
  const auto& [head_weight, head_bias] = encoder_.head();
  const auto& [stem_weight, stem_bias] = decoder_.stem();
  // The first half of the head's rows gives means, the second log variances.
  torch::Tensor mean_weight = head_weight.narrow(0, 0, latents);
  torch::Tensor mean_bias = head_bias.narrow(0, 0, latents);
  mean_weight.copy_(transform.matmul(mean_weight.to(kFloat64)));
  mean_bias.copy_(transform.matmul(mean_bias.to(kFloat64) - centre));
  head_weight.narrow(0, latents, latents).zero_();
  head_bias.narrow(0, latents, latents).copy_(log_variance);
  // W z + b = (W transform^-1) z' + (b + W centre).
  const torch::Tensor old_stem = stem_weight.to(kFloat64);
  stem_bias.copy_(stem_bias.to(kFloat64) + old_stem.matmul(centre));
  stem_weight.copy_(old_stem.matmul(torch::linalg_inv(transform)));
}

}  // namespace facet
