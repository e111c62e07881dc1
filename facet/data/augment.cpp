#include "facet/data/augment.h"

#include "facet/core/torch.h"

namespace facet {

namespace {

/// One uniform number per image, between two bounds, [B, 1, 1, 1].
torch::Tensor uniform_between(const Key& key, const torch::Tensor& x, double low, double high) {
  return uniform(key, {x.size(0), 1, 1, 1}, x.options()).mul_(high - low).add_(low);
}

/// Every image shifted and stretched a little; pixels beyond the border repeat the border.
torch::Tensor shift_and_stretch(const torch::Tensor& x, const Key& key) {
  constexpr double shift = 0.12, stretch = 0.06;  // in units of half a side
  const int64_t count = x.size(0);
  torch::Tensor affine = torch::zeros({count, 2, 3}, x.options());
  affine.select(2, 2).copy_(uniform(key.fold("shift"), {count, 2}, x.options()) * (2 * shift) -
                            shift);
  const torch::Tensor scale =
      uniform(key.fold("scale"), {count, 2}, x.options()) * (2 * stretch) + (1 - stretch);
  affine.select(1, 0).select(1, 0).copy_(scale.select(1, 0));
  affine.select(1, 1).select(1, 1).copy_(scale.select(1, 1));
  constexpr int64_t bilinear = 0, border = 1;  // at::native's numbers for these modes
  return torch::grid_sampler(x, torch::affine_grid_generator(affine, x.sizes(), false), bilinear,
                             border, false);
}

torch::Tensor blur(const torch::Tensor& x) {
  return torch::avg_pool2d(torch::replication_pad2d(x, {1, 1, 1, 1}), 3, 1);
}

/// Blur, noise, contrast and brightness: the ways in which decoded images differ from data.
torch::Tensor photometric_jitter(torch::Tensor x, const Key& key) {
  for (const char* purpose : {"blur", "second blur"})
    x = x + uniform_between(key.fold(purpose), x, -0.5, 1).clamp_min_(0) * (blur(x) - x);
  const torch::Tensor noise = standard_normal(key.fold("noise"), x.sizes(), x.options());
  return x * uniform_between(key.fold("contrast"), x, 0.85, 1.15) +
         uniform_between(key.fold("light"), x, -0.1, 0.1) +
         noise * uniform_between(key.fold("deviation"), x, 0, 0.1);
}

}  // namespace

torch::Tensor augment(const torch::Tensor& pixels, const Key& key) {
  const torch::Tensor x = pixels.to(kFloat32).div_(127.5).sub_(1);
  return photometric_jitter(shift_and_stretch(x, key), key)
      .add_(1)
      .mul_(127.5)
      .round_()
      .clamp_(0, 255)
      .to(kUInt8);
}

torch::Tensor mirror_half(const torch::Tensor& pixels, const Key& key) {
  const torch::Tensor draw =
      uniform(key, {pixels.size(0), 1, 1, 1}, torch::TensorOptions().device(pixels.device()));
  return torch::where(draw.lt(0.5), pixels.flip(3), pixels);
}

}  // namespace facet
