#include "facet/model/refiner.h"

#include <algorithm>

#include "facet/core/torch.h"
#include "facet/model/generate.h"

namespace facet {

namespace {

constexpr int64_t refined_at_once = 128;  // images
constexpr int64_t refiner_layer_bytes = int64_t{1} << 29;

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
      return refinement.refiner->velocity(images, means, torch::full({count}, time, x.options()));
    };
    x = follow_flow(velocity, x, start, refinement.steps);
    parts.push_back(from_unit_range(x).to(torch::kCPU));
  }
  return torch::cat(parts);
}

}  // namespace

Refiner::Refiner(const UnetOptions& options, const ImageShape& shape, std::string model,
                 const Key& key)
    : shape_(shape),
      model_(std::move(model)),
      network_(options, 2 * shape.channels, shape.channels, shape, key) {}

torch::Tensor Refiner::velocity(const torch::Tensor& x, const torch::Tensor& means,
                                const torch::Tensor& times) const {
  const auto type = x.is_cuda() ? torch::kBFloat16 : kFloat32;
  return network_.forward(torch::cat({x, means}, 1).to(type), times).to(kFloat32);
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
  const int64_t channels = network_.options().width * (below + multipliers.front());
  return std::clamp<int64_t>(refiner_layer_bytes / (4 * channels * shape_.height * shape_.width), 1,
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

torch::Tensor decode_pictures_of(const Vae& model, const torch::Tensor& photographs,
                                 const torch::Tensor& z, const Refinement& refinement,
                                 const PictureNoise& noise) {
  return refinement ? refine_in_slices(model, photographs, z, refinement, noise)
                    : decode_means(model, z);
}

}  // namespace facet
