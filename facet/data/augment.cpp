#include "facet/data/augment.h"

#include <vector>

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

/// Every image rotated, sheared, scaled and shifted, by more than shift_and_stretch.
torch::Tensor warp(const torch::Tensor& x, const Key& key) {
  constexpr double angle = 0.35, shear = 0.25, stretch = 0.2, shift = 0.2;
  const auto draw = [&](const char* purpose, double most) {
    return uniform(key.fold(purpose), {x.size(0)}, x.options()).mul_(2 * most).sub_(most);
  };
  const torch::Tensor turn = draw("angle", angle), slant = draw("shear", shear);
  const torch::Tensor wide = 1.0 + draw("width", stretch), high = 1.0 + draw("height", stretch);
  const torch::Tensor cosine = turn.cos(), sine = turn.sin();
  const torch::Tensor rows = torch::stack(
      {torch::stack({wide * cosine, wide * (slant * cosine - sine), draw("right", shift)}, 1),
       torch::stack({high * sine, high * (slant * sine + cosine), draw("down", shift)}, 1)},
      1);
  constexpr int64_t bilinear = 0, border = 1;  // at::native's numbers for these modes
  return torch::grid_sampler(x, torch::affine_grid_generator(rows, x.sizes(), false), bilinear,
                             border, false);
}

/// A square of every image, up to two fifths of a side, replaced by the image's mean.
torch::Tensor cut_out(const torch::Tensor& x, const Key& key) {
  constexpr double largest = 0.4;
  const auto inside = [&](int64_t dimension, const char* purpose, const torch::Tensor& side) {
    const int64_t size = x.size(dimension);
    std::vector<int64_t> shape = {1, 1, 1, 1};
    shape[static_cast<size_t>(dimension)] = size;
    const torch::Tensor at =
        (torch::arange(size, x.options()) + 0.5).div_(static_cast<double>(size)).view(shape);
    return (at - uniform_between(key.fold(purpose), x, 0, 1)).abs().lt(0.5 * side);
  };
  const torch::Tensor side = uniform_between(key.fold("side"), x, 0, largest);
  const torch::Tensor square = inside(2, "row", side).logical_and(inside(3, "column", side));
  return torch::where(square, x.mean({1, 2, 3}, /*keepdim=*/true), x);
}

torch::Tensor blur(const torch::Tensor& x) {
  return torch::avg_pool2d(torch::replication_pad2d(x, {1, 1, 1, 1}), 3, 1);
}

torch::Tensor change_light(const torch::Tensor& x, const Key& key) {
  return x * uniform_between(key.fold("contrast"), x, 0.85, 1.15) +
         uniform_between(key.fold("light"), x, -0.1, 0.1);
}

/// Blur, noise, contrast and brightness: the ways in which decoded images differ from data.
torch::Tensor photometric_jitter(torch::Tensor x, const Key& key) {
  for (const char* purpose : {"blur", "second blur"})
    x = x + uniform_between(key.fold(purpose), x, -0.5, 1).clamp_min_(0) * (blur(x) - x);
  const torch::Tensor noise = standard_normal(key.fold("noise"), x.sizes(), x.options());
  return change_light(x, key) + noise * uniform_between(key.fold("deviation"), x, 0, 0.1);
}

/// Pixels from -1 to 1.
torch::Tensor to_unit(const torch::Tensor& pixels) {
  return pixels.to(kFloat32).div_(127.5).sub_(1);
}
torch::Tensor from_unit(torch::Tensor x) {
  return x.add_(1).mul_(127.5).round_().clamp_(0, 255).to(kUInt8);
}

}  // namespace

torch::Tensor augment(const torch::Tensor& pixels, const Key& key) {
  return from_unit(photometric_jitter(shift_and_stretch(to_unit(pixels), key), key));
}

torch::Tensor augment_strongly(const torch::Tensor& pixels, const Key& key) {
  return from_unit(photometric_jitter(cut_out(warp(to_unit(pixels), key), key), key));
}

torch::Tensor augment_sharply(const torch::Tensor& pixels, const Key& key) {
  return from_unit(change_light(cut_out(warp(to_unit(pixels), key), key), key));
}

torch::Tensor mirror_half(const torch::Tensor& pixels, const Key& key) {
  const torch::Tensor draw =
      uniform(key, {pixels.size(0), 1, 1, 1}, torch::TensorOptions().device(pixels.device()));
  return torch::where(draw.lt(0.5), pixels.flip(3), pixels);
}

}  // namespace facet
