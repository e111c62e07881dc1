#include "facet/eval/importance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "facet/core/torch.h"

namespace facet {

namespace {

/// The number of draws to decode at once. On a CPU about 128 of 28x28 pixels, which is 1.5 times as
/// fast as 2000. On a GPU enough to keep it busy: as many as a gigabyte of a layer's activations
/// holds; the decoder keeps those of its other layers, too, until it has run.
int64_t draws_at_once(const Vae& model, int64_t image_bytes) {
  constexpr int64_t cpu_pixels = 100'000, most_on_gpu = 20'000, gpu_bytes = int64_t{1} << 30;
  const int64_t rows = model.device().is_cpu() ? cpu_pixels / image_bytes
                                               : model.images_at_once(most_on_gpu, gpu_bytes);
  return std::max<int64_t>(1, rows);
}

constexpr int64_t most_images = 500;  // per batch; small images leave room for several draws each

/// [R, ...] to [times * R, ...]: all rows, `times` times over.
torch::Tensor repeated(const torch::Tensor& tensor, int64_t times) {
  std::vector<int64_t> repeats(static_cast<size_t>(tensor.dim()), 1);
  repeats.front() = times;
  return tensor.repeat(repeats);
}

/// log p(x|z) p(z) / q(z|x) for one draw of z per row, [R].
torch::Tensor log_weights(Vae& model, const torch::Tensor& x, const Encoding& encoding,
                          const Key& key) {
  const torch::Tensor z = encoding.sample(key);
  torch::Tensor weight = model.likelihood().log_density(x, model.decode(z)).to(kFloat64);
  weight += predictive_log_density(model.prior, z);
  const torch::Tensor log_variance = encoding.log_variance.to(kFloat64);
  const torch::Tensor offset = (z - encoding.mean).to(kFloat64);
  return weight + 0.5 * (log_variance + std::log(2.0 * std::numbers::pi) +
                         offset.square() / torch::exp(log_variance))
                            .sum(1);
}

/// The bounds of a batch, [B]; `together` draws of every image are decoded at once.
torch::Tensor batch_bounds(Vae& model, const torch::Tensor& x, int64_t draws, int64_t together,
                           const Key& key) {
  const int64_t images = x.size(0);
  const Encoding encoding = model.encode(x);
  const torch::Tensor rows = repeated(x, together);
  const Encoding copies{repeated(encoding.mean, together),
                        repeated(encoding.log_variance, together)};
  torch::Tensor total =
      torch::full({images}, -std::numeric_limits<double>::infinity(), x.options().dtype(kFloat64));
  for (int64_t drawn = 0; drawn < draws; drawn += together) {
    const int64_t count = std::min(together, draws - drawn) * images;
    const Encoding part{copies.mean.narrow(0, 0, count), copies.log_variance.narrow(0, 0, count)};
    const torch::Tensor weights =
        log_weights(model, rows.narrow(0, 0, count), part, key.fold(static_cast<uint64_t>(drawn)));
    total = torch::logaddexp(total, torch::logsumexp(weights.view({-1, images}), 0));
  }
  return total - std::log(static_cast<double>(draws));
}

}  // namespace

torch::Tensor importance_bounds(Vae& model, const ImageRows& pixels, int64_t draws,
                                const Key& key) {
  torch::NoGradGuard no_gradient;
  const int64_t rows = draws_at_once(model, pixels.image_bytes());
  const int64_t batch_size = std::min({rows, most_images, pixels.count()});
  const int64_t together = std::min(draws, rows / batch_size);
  std::vector<torch::Tensor> bounds;
  pixels.for_each_slice(batch_size, [&](const torch::Tensor& batch) {
    bounds.push_back(batch_bounds(model, model.likelihood().from_pixels(batch), draws, together,
                                  key.fold(static_cast<uint64_t>(bounds.size()))));
  });
  return torch::cat(bounds);
}

}  // namespace facet
