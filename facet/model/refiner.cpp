#include "facet/model/refiner.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/model/fingerprint.h"
#include "facet/model/generate.h"

namespace facet {

namespace {

constexpr int64_t refined_at_once = 128;  // images
constexpr int64_t refiner_layer_bytes = int64_t{1} << 29;
/// Beyond, how clearly a latent vector has a value makes no difference.
constexpr double most_log_odds = 10;

/// The noise of pictures begin, begin + 1, ..., float32 [count, C, H, W]. Drawn on the CPU for each
/// picture, so that it is the same on every device.
torch::Tensor picture_noise(const PictureNoise& noise, int64_t begin, int64_t count,
                            const ImageShape& shape) {
  std::vector<torch::Tensor> all;
  for (int64_t n = begin; n < begin + count; ++n)
    all.push_back(standard_normal(noise.keys.at(static_cast<size_t>(n)),
                                  {shape.channels, shape.height, shape.width}, kFloat32));
  return torch::stack(all);
}

/// Keys by number.
template <typename Number>
PictureNoise numbered_noise(const Key& key, int64_t count, const Number& number) {
  PictureNoise noise;
  for (int64_t n = 0; n < count; ++n)
    noise.keys.push_back(key.fold("refine").fold(static_cast<uint64_t>(number(n))));
  return noise;
}

/// Photographs, U8, with what the means of a changed latent vector differ by from those of their
/// own: a switched property is already there where the flow starts.
torch::Tensor changed_photographs(const Vae& model, const torch::Tensor& photographs,
                                  const torch::Tensor& means) {
  const torch::Tensor own = unit_means(model, encode_pixels(model, photographs).mean);
  return (to_unit_range(photographs) + means - own).clamp(-1, 1);
}

/// `photographs` may be undefined.
torch::Tensor refine_in_slices(const Vae& model, const torch::Tensor& photographs,
                               const torch::Tensor& z, const Refinement& refinement,
                               const PictureNoise& noise) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> parts;
  const int64_t size = model.images_at_once(refinement.refiner->images_at_once());
  const double strength = refinement.strength();
  for (int64_t begin = 0; begin < z.size(0); begin += size) {
    const int64_t count = std::min(size, z.size(0) - begin);
    const torch::Tensor means = unit_means(model, z.narrow(0, begin, count));
    torch::Tensor x = picture_noise(noise, begin, count, model.shape()).to(means.device());
    double start = 0;
    if (photographs.defined()) {
      start = kPhotographStart;
      const torch::Tensor images =
          changed_photographs(model, photographs.narrow(0, begin, count).to(means.device()), means);
      x = mix_noise(images, x, torch::full({count}, start, x.options()));
    }
    const Velocity velocity = [&](const torch::Tensor& images, double time) {
      return refinement.refiner->guided_velocity(images, means,
                                                 torch::full({count}, time, x.options()), strength);
    };
    x = follow_flow(velocity, x, start, refinement.steps);
    parts.push_back(from_unit_range(x).to(torch::kCPU));
  }
  return torch::cat(parts);
}

}  // namespace

Refiner::Refiner(const UnetOptions& options, const Vae& model, const Key& key, double guidance)
    : shape_(model.shape()),
      model_(fingerprint(model)),
      guidance_(guidance),
      network_(options, 2 * shape_.channels, shape_.channels, shape_, key),
      latents_(model.prior.dimensions(), latent_condition_count(model.prior), key.fold("latents")) {
}

NamedTensors Refiner::parameters() const {
  NamedTensors all = network_.parameters();
  for (const auto& [name, tensor] : latents_.parameters())
    all.emplace_back("latents." + name, tensor);
  return all;
}

torch::Tensor Refiner::velocity(const torch::Tensor& x, const torch::Tensor& means,
                                const torch::Tensor& times) const {
  const auto type = x.is_cuda() ? torch::kBFloat16 : kFloat32;
  return network_.forward(torch::cat({x, means}, 1).to(type), times).to(kFloat32);
}

torch::Tensor Refiner::guided_velocity(const torch::Tensor& x, const torch::Tensor& means,
                                       const torch::Tensor& times, double strength) const {
  if (strength == 1) return velocity(x, means, times);
  const auto both =
      velocity(torch::cat({x, x}), torch::cat({means, torch::zeros_like(means)}), times.repeat(2))
          .chunk(2);
  return torch::lerp(both[1], both[0], strength);
}

torch::Device Refiner::device() const { return parameters().front().second.device(); }

void Refiner::move_to(torch::Device device) {
  for (auto& [name, parameter] : parameters()) parameter.set_data(parameter.to(device));
}

int64_t Refiner::parameter_count() const {
  int64_t count = 0;
  for (const auto& [name, parameter] : parameters()) count += parameter.numel();
  return count;
}

int64_t Refiner::images_at_once() const {
  // The widest layer joins what comes from below with what was seen on the way down.
  const auto& multipliers = network_.options().multipliers;
  const int64_t below = multipliers[std::min<size_t>(1, multipliers.size() - 1)];
  const int64_t patch = network_.options().patch;
  const int64_t channels = network_.options().width * (below + multipliers.front());
  const int64_t places = shape_.height * shape_.width / (patch * patch);
  const int64_t passes = guidance_ > 0 ? 2 : 1;  // of one image, with its mean and without
  return std::clamp<int64_t>(refiner_layer_bytes / (4 * channels * places * passes), 1,
                             refined_at_once);
}

torch::Tensor to_unit_range(const torch::Tensor& pixels) {
  return pixels.to(kFloat32) * (2.0 / 255.0) - 1.0;
}

torch::Tensor from_unit_range(const torch::Tensor& images) {
  return ((images + 1.0) * 127.5).round().clamp(0, 255).to(kUInt8);
}

torch::Tensor unit_means(const Vae& model, const torch::Tensor& z) {
  const Likelihood& likelihood = model.likelihood();
  const torch::Tensor ends = likelihood.from_pixels(torch::tensor({0, 255}, kUInt8));
  const double black = ends[0].item<double>(), white = ends[1].item<double>();
  return (likelihood.mean(model.decode(z)) - black) * (2.0 / (white - black)) - 1.0;
}

torch::Tensor mix_noise(const torch::Tensor& images, const torch::Tensor& noise,
                        const torch::Tensor& times) {
  return torch::lerp(noise, images, times.view({-1, 1, 1, 1}));
}

torch::Tensor hide_means(const torch::Tensor& means, const torch::Tensor& hidden) {
  return means.masked_fill(hidden, 0);
}

double Refinement::strength() const {
  if (guidance > 0) return guidance;
  return refiner && refiner->guidance() > 0 ? refiner->guidance() : 1;
}

torch::Tensor follow_flow(const Velocity& velocity, torch::Tensor x, double start, int64_t steps) {
  torch::NoGradGuard no_gradient;
  const double step = (1.0 - start) / static_cast<double>(steps);
  for (int64_t n = 0; n < steps; ++n) {
    const double time = start + step * static_cast<double>(n);
    torch::Tensor direction = velocity(x, time);
    if (n + 1 < steps) direction = 0.5 * (direction + velocity(x + step * direction, time + step));
    x = x + step * direction;
  }
  return x;
}

std::string refine_options(const Refinement& refinement) {
  if (!refinement) return "";
  std::string options = " --refined";
  if (refinement.steps != kDefaultRefineSteps)
    options += fmt::format(" --refine-steps {}", refinement.steps);
  if (refinement.guidance > 0) options += fmt::format(" --refine-guidance {}", refinement.guidance);
  return options;
}

torch::Tensor latent_conditions(const FactorialMixture& prior, const torch::Tensor& z,
                                const GaussianRows& components) {
  torch::NoGradGuard no_gradient;
  const std::vector<torch::Tensor> blocks = prior.split(z);
  std::vector<torch::Tensor> conditions = {components.centre};
  for (size_t i = 0; i < prior.size(); ++i)
    if (prior.factors[i].named())
      conditions.push_back(
          torch::log(e_step({blocks[i]}, prior.posteriors[i], {})).clamp_min(-most_log_odds) /
          most_log_odds);
  return torch::cat(conditions, 1).to(kFloat32);
}

int64_t latent_condition_count(const FactorialMixture& prior) {
  int64_t count = prior.dimensions();
  for (const FactorOptions& factor : prior.factors)
    if (factor.named()) count += factor.components;
  return count;
}

torch::Tensor likely_latents(const FactorialMixture& prior, const LatentSample& samples,
                             const Refinement& refinement) {
  torch::NoGradGuard no_gradient;
  const GaussianRows components = gaussian_rows(prior, samples.components);
  const torch::Tensor conditions = latent_conditions(prior, samples.z, components);
  const Velocity velocity = [&](const torch::Tensor& x, double time) {
    return refinement.refiner->latent_velocity(x, conditions,
                                               torch::full({x.size(0)}, time, x.options()));
  };
  const torch::Tensor place = ((samples.z - components.centre) / components.scale).to(kFloat32);
  return components.centre + components.scale * follow_flow(velocity, place, 0, refinement.steps);
}

PictureNoise PictureNoise::each(const Key& key, int64_t count) {
  return numbered_noise(key, count, [](int64_t n) { return n; });
}

PictureNoise PictureNoise::shared(const Key& key, int64_t count) {
  return numbered_noise(key, count, [](int64_t) { return 0; });
}

PictureNoise PictureNoise::by_row(const Key& key, int64_t count, int64_t repeats) {
  return numbered_noise(key, count, [&](int64_t n) { return n / repeats; });
}

PictureNoise PictureNoise::cycling(const Key& key, int64_t count, int64_t period) {
  return numbered_noise(key, count, [&](int64_t n) { return n % period; });
}

torch::Tensor decode_pictures(const Vae& model, const torch::Tensor& z,
                              const Refinement& refinement, const PictureNoise& noise) {
  return refinement ? refine_in_slices(model, {}, z, refinement, noise) : decode_means(model, z);
}

torch::Tensor decode_pictures(const Vae& model, const LatentSample& samples,
                              const Refinement& refinement, const PictureNoise& noise) {
  return decode_pictures(model,
                         refinement ? likely_latents(model.prior, samples, refinement) : samples.z,
                         refinement, noise);
}

torch::Tensor decode_pictures_of(const Vae& model, const torch::Tensor& photographs,
                                 const torch::Tensor& z, const Refinement& refinement,
                                 const PictureNoise& noise) {
  return refinement ? refine_in_slices(model, photographs, z, refinement, noise)
                    : decode_means(model, z);
}

}  // namespace facet
