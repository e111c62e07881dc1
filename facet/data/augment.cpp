#include "facet/data/augment.h"

namespace facet {

namespace {

/// One number an image between two bounds, [B, 1, 1, 1].
torch::Tensor uniform_between(const Key& key, const torch::Tensor& x, double low, double high) {
  return uniform(key, {x.size(0), 1, 1, 1}, x.options()).mul_(high - low).add_(low);
}

/// Every image moved and stretched a little, with the border continued outwards.
torch::Tensor move(const torch::Tensor& x, const Key& key) {
  constexpr double shift = 0.12, stretch = 0.06;  // in half sides
  const int64_t count = x.size(0);
  torch::Tensor affine = torch::zeros({count, 2, 3}, x.options());
  affine.select(2, 2).copy_(uniform(key.fold("shift"), {count, 2}, x.options()) * (2 * shift) -
                            shift);
  const torch::Tensor scale =
      uniform(key.fold("scale"), {count, 2}, x.options()) * (2 * stretch) + (1 - stretch);
  affine.select(1, 0).select(1, 0).copy_(scale.select(1, 0));
  affine.select(1, 1).select(1, 1).copy_(scale.select(1, 1));
  namespace functional = torch::nn::functional;
  return functional::grid_sample(
      x, functional::affine_grid(affine, x.sizes(), false),
      functional::GridSampleFuncOptions().padding_mode(torch::kBorder).align_corners(false));
}

torch::Tensor soften(const torch::Tensor& x) {
  namespace functional = torch::nn::functional;
  return functional::avg_pool2d(
      functional::pad(x, functional::PadFuncOptions({1, 1, 1, 1}).mode(torch::kReplicate)),
      functional::AvgPool2dFuncOptions(3).stride(1));
}

/// What decoders do to images: soft edges, a little noise, other light.
torch::Tensor weather(torch::Tensor x, const Key& key) {
  for (const char* purpose : {"blur", "second blur"})
    x = x + uniform_between(key.fold(purpose), x, -0.5, 1).clamp_min_(0) * (soften(x) - x);
  const torch::Tensor noise = standard_normal(key.fold("noise"), x.sizes(), x.options());
  return x * uniform_between(key.fold("contrast"), x, 0.85, 1.15) +
         uniform_between(key.fold("light"), x, -0.1, 0.1) +
         noise * uniform_between(key.fold("deviation"), x, 0, 0.1);
}

}  // namespace

torch::Tensor augment(const torch::Tensor& pixels, const Key& key) {
  const torch::Tensor x = pixels.to(torch::kFloat32).div_(127.5).sub_(1);
  return weather(move(x, key), key).add_(1).mul_(127.5).round_().clamp_(0, 255).to(torch::kUInt8);
}

torch::Tensor mirror_half(const torch::Tensor& pixels, const Key& key) {
  const torch::Tensor draw =
      uniform(key, {pixels.size(0), 1, 1, 1}, torch::TensorOptions().device(pixels.device()));
  return torch::where(draw.lt(0.5), pixels.flip(3), pixels);
}

}  // namespace facet
