#include "facet/model/vae.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/cuda/ops.h"
#include "facet/prior/certain.h"

namespace facet {

namespace {

/// exp(-12) to exp(8): wide enough never to bind in a healthy run, narrow enough that a bad batch
/// cannot overflow.
constexpr double smallest_log_variance = -12, largest_log_variance = 8;

/// An Error where the prior to compare with is not of this form.
void require_form(const ModelOptions& options) {
  const auto fail = [&](const std::string& found, const std::string& expected) {
    throw Error({.doing = "building the prior",
                 .object = fmt::format("model.prior {}", options.prior),
                 .found = found,
                 .expected = expected});
  };
  for (const FactorOptions& factor : options.factors)
    if (options.prior == "normal" && factor.components != 1)
      fail(fmt::format("factor '{}' with {} components", factor.name, factor.components),
           "one component");
  if (options.prior != "vamp") return;
  if (options.factors.size() != 1)
    fail(fmt::format("{} factors", options.factors.size()), "a single one");
  if (options.factors.front().named())
    fail(fmt::format("a named factor '{}'", options.factors.front().name), "a free one");
}

}  // namespace

void ModelOptions::visit(OptionVisitor& visitor) {
  visitor.option("likelihood", likelihood, "The distribution of pixels.");
  visitor.option("network", network, "Encoder and decoder.");
  visitor.option("factors", factors, "The factors of the latent vector, in order.");
  visitor.option(
      "prior", prior,
      "'mixture', the factorial mixture with a posterior of its parameters; or one to "
      "compare it with: 'normal' is N(0, I), 'points' has the mixtures' parameters as "
      "point estimates that move by gradients (VaDE), 'vamp' has the encodings of learned "
      "images as components (VampPrior).",
      one_of({"mixture", "normal", "points", "vamp"}));
  visitor.option("hyperprior", hyperprior, "Priors on the mixtures' parameters.");
}

torch::Tensor Encoding::sample(const Key& key) const {
  if (cuda::takes(mean)) return cuda::sample_latent(mean, log_variance, key.value(), key.counter());
  return mean + torch::exp(0.5 * log_variance) * standard_normal(key, mean.sizes(), mean.options());
}

PseudoInputsImpl::PseudoInputsImpl(int64_t count, const ImageShape& shape)
    : logits_(register_parameter(
          "logits", torch::zeros({count, shape.channels, shape.height, shape.width}))) {}

torch::Tensor PseudoInputsImpl::pixels() const { return 255.0 * torch::sigmoid(logits_); }

void PseudoInputsImpl::start_at(const torch::Tensor& images) {
  torch::NoGradGuard no_gradient;
  // Black and white are infinitely far away: begin where gradients still flow.
  logits_.copy_(torch::logit(images.to(torch::kFloat32) / 255.0, 0.1));
}

Vae::Vae(const ModelOptions& options, const ImageShape& shape, const Key& key)
    : prior(options.factors, options.hyperprior),
      options_(options),
      shape_(shape),
      likelihood_(make_likelihood(options.likelihood)) {
  const auto layers = convolution_layers(options.network, shape);
  const int64_t latents = prior.dimensions();
  encoder_ = register_module("encoder", Encoder(layers, 2 * latents, key.fold("encoder")));
  decoder_ = register_module(
      "decoder", Decoder(layers, latents, shape.channels * likelihood_->numbers_per_value(),
                         key.fold("decoder")));
  require_form(options);
  if (options.prior == "vamp")
    pseudo_inputs_ =
        register_module("pseudo_inputs", PseudoInputs(options.factors.front().components, shape));
}

FactorParameters Vae::pseudo_components() {
  const Encoding encoding = encode(likelihood_->from_pixels(pseudo_inputs_->pixels()));
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  const int64_t count = encoding.mean.size(0);
  const torch::Tensor weights =
      torch::full({count}, 1.0 / static_cast<double>(count), blocks.front().mean.options());
  return certain_parameters(blocks.front().mean, blocks.front().variance, weights);
}

Encoding Vae::encode(const torch::Tensor& x) {
  const torch::Tensor head = encoder_->forward(x);
  if (cuda::takes(head)) {
    const auto [mean, log_variance] =
        cuda::split_encoding(head, smallest_log_variance, largest_log_variance);
    return {mean, log_variance};
  }
  const auto halves = head.chunk(2, 1);
  return {halves[0], halves[1].clamp(smallest_log_variance, largest_log_variance)};
}

std::pair<Encoding, torch::Tensor> Vae::encode_and_sample(const torch::Tensor& x,
                                                          const Key& noise) {
  if (cuda::takes(x)) {
    const auto [mean, log_variance, z] =
        cuda::draw_encoding(encoder_->forward(x), smallest_log_variance, largest_log_variance,
                            noise.value(), noise.counter());
    return {{mean, log_variance}, z};
  }
  const Encoding encoding = encode(x);
  return {encoding, encoding.sample(noise)};
}

torch::Tensor Vae::decode(const torch::Tensor& z) {
  return decoder_->forward(z.to(parameters().front().scalar_type()));
}

torch::Device Vae::device() { return parameters().front().device(); }

void Vae::move_to(torch::Device device) {
  to(device);
  prior.to(device);
}

int64_t Vae::network_parameters() const {
  int64_t count = 0;
  for (const torch::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

void Vae::accelerate(const Shadows& shadows) {
  encoder_->accelerate(shadows);
  decoder_->accelerate(shadows);
}

void Vae::begin_gradients() {
  encoder_->stack()->begin_gradients();
  decoder_->stack()->begin_gradients();
  if (!pseudo_inputs_) return;
  // LibTorch adds up theirs.
  for (torch::Tensor& parameter : pseudo_inputs_->parameters()) parameter.mutable_grad().zero_();
}

void Vae::finish_gradients() {
  encoder_->stack()->finish_gradients();
  decoder_->stack()->finish_gradients();
}

void Vae::change_coordinates(const Coordinates& coordinates, const torch::Tensor& log_variance) {
  torch::NoGradGuard no_gradient;
  const auto parameters = named_parameters();
  const int64_t latents = prior.dimensions();
  const torch::Tensor transform = coordinates.transform, centre = coordinates.centre;
  const torch::Tensor head_weight = parameters["encoder.head.weight"],
                      head_bias = parameters["encoder.head.bias"],
                      stem_weight = parameters["decoder.stem.weight"],
                      stem_bias = parameters["decoder.stem.bias"];
  // The head gives means and then log variances.
  torch::Tensor mean_weight = head_weight.narrow(0, 0, latents);
  torch::Tensor mean_bias = head_bias.narrow(0, 0, latents);
  mean_weight.copy_(transform.matmul(mean_weight.to(torch::kFloat64)));
  mean_bias.copy_(transform.matmul(mean_bias.to(torch::kFloat64) - centre));
  head_weight.narrow(0, latents, latents).zero_();
  head_bias.narrow(0, latents, latents).copy_(log_variance);
  // W z + b = (W transform^-1) z' + (b + W centre).
  const torch::Tensor old_stem = stem_weight.to(torch::kFloat64);
  stem_bias.copy_(stem_bias.to(torch::kFloat64) + old_stem.matmul(centre));
  stem_weight.copy_(old_stem.matmul(torch::linalg_inv(transform)));
}

LatentSample sample_latents(const Key& key, const FactorialMixture& prior, int64_t count,
                            const std::vector<int64_t>& fixed) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> blocks, components;
  for (size_t i = 0; i < prior.size(); ++i) {
    const FactorPosterior& posterior = prior.posteriors[i];
    const Key factor_key = key.fold(i);
    const bool held = i < fixed.size() && fixed[i] >= 0;
    components.push_back(
        held ? torch::full({count}, fixed[i], posterior.counts.options().dtype(torch::kInt64))
             : sample_components(factor_key.fold("component"), posterior, count));
    blocks.push_back(sample_blocks(factor_key.fold("block"), posterior, components.back()));
  }
  return {torch::cat(blocks, 1), torch::stack(components, 1)};
}

}  // namespace facet
