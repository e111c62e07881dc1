#include "facet/nets/unet.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/nets/time_features.h"
#include "facet/ops/group_norm.h"

namespace facet {

namespace {

constexpr int64_t norm_groups = 16;
constexpr int64_t attention_heads = 4;

const std::vector<UnetOptions>& unet_presets() {
  static const std::vector<UnetOptions> all = {
      // A 32x32 image takes some 15 milliseconds on two cores.
      {.preset = "small", .width = 32, .multipliers = {1, 2, 3}, .blocks = 1, .attention = 8},
      // For 64x64 images on a GPU.
      {.preset = "base", .width = 96, .multipliers = {1, 2, 3, 4}, .blocks = 2, .attention = 16},
  };
  return all;
}

std::vector<std::string> unet_preset_names() {
  std::vector<std::string> names = {"auto"};
  for (const UnetOptions& preset : unet_presets()) names.push_back(preset.preset);
  names.emplace_back("custom");
  return names;
}

/// Images of at most so many pixels per side have the preset 'small' if it is not chosen, and are
/// not divided into patches by it.
constexpr int64_t largest_small_side = 40;

/// Whether images are whole patches.
bool divides(int64_t patch, const ImageShape& shape) {
  return shape.height % patch == 0 && shape.width % patch == 0;
}

/// The options as 'custom', with the numbers of their preset: a file with them stays readable when
/// presets change.
UnetOptions resolve_unet(const UnetOptions& options, const ImageShape& shape) {
  const Attempt building{"building the U-Net", options.preset};
  if (options.preset == "custom") {
    if (options.width <= 0 || options.width % norm_groups != 0)
      building.fail(fmt::format("width {}", options.width),
                    fmt::format("a multiple of {}", norm_groups));
    if (options.multipliers.empty() || options.blocks < 1)
      building.fail("no multipliers or no blocks", "at least one of each");
    if (!divides(options.patch, shape))
      building.fail(fmt::format("patches of {0}x{0} pixels", options.patch),
                    fmt::format("a patch that divides images of {}x{}", shape.width, shape.height));
    return options;
  }
  const bool small = std::max(shape.height, shape.width) <= largest_small_side;
  const std::string name = options.preset != "auto" ? options.preset : small ? "small" : "base";
  for (const UnetOptions& preset : unet_presets())
    if (preset.preset == name) {
      UnetOptions numbers = preset;
      numbers.preset = "custom";
      if (name == "small" && !small && divides(2, shape)) numbers.patch = 2;
      return numbers;
    }
  building.fail("an unknown preset", "a known one", suggest(name, unet_preset_names()));
}

torch::Tensor norm(const torch::Tensor& x, const LayerParameters& layer) {
  return ops::group_norm(x, {norm_groups, layer.weight, layer.bias});
}

/// Followed by SiLU; `modulation` [B, 2 C] may be undefined.
torch::Tensor norm_and_silu(const torch::Tensor& x, const LayerParameters& layer,
                            const torch::Tensor& modulation = {}) {
  return ops::group_norm(x, {norm_groups, layer.weight, layer.bias, /*silu=*/true}, modulation);
}

torch::Tensor convolution(const torch::Tensor& x, const LayerParameters& layer,
                          int64_t stride = 1) {
  const auto type = x.scalar_type();
  return torch::conv2d(x, layer.weight.to(type), layer.bias.to(type), stride,
                       (layer.weight.size(2) - 1) / 2);
}

torch::Tensor linear_layer(const torch::Tensor& x, const LayerParameters& layer) {
  const auto type = x.scalar_type();
  return torch::linear(x, layer.weight.to(type), layer.bias.to(type));
}

int64_t half(int64_t side) { return (side + 1) / 2; }

}  // namespace

void UnetOptions::visit(OptionVisitor& visitor) {
  visitor.option("preset", preset,
                 "One that follows from the images' size, a small one that a CPU can train, a "
                 "larger one for a GPU, or 'custom'. The small one sees images of more than 40 "
                 "pixels per side in patches of 2x2.",
                 one_of(unet_preset_names()));
  visitor.option("width", width, "For 'custom': channels of the first level, a multiple of 16.",
                 between(0, 1024));
  visitor.option("multipliers", multipliers,
                 "For 'custom': the channels of every level as multiples of the width.",
                 between(1, 16));
  visitor.option("blocks", blocks, "For 'custom': residual blocks of a level on the way down.",
                 between(0, 8));
  visitor.option("attention", attention,
                 "For 'custom': levels of at most so many pixels per side have attention.",
                 at_least(0));
  visitor.option("patch", patch,
                 "For 'custom': the network sees images in squares of so many pixels per side, "
                 "each as the channels of one place. 2 costs a third of 1.",
                 between(1, 8));
}

/// Makes layers one after another, each with a key of its own.
class Unet::Builder {
 public:
  Builder(int64_t embedding, const Key& key) : embedding_(embedding), key_(key) {}

  /// A convolution with a square kernel; its outputs have the variance of its inputs, or are zero.
  LayerParameters convolution(int64_t in, int64_t out, int64_t kernel, bool zero = false) {
    return layer({out, in, kernel, kernel}, out, in * kernel * kernel, zero);
  }
  LayerParameters linear(int64_t in, int64_t out) { return layer({out, in}, out, in, false); }
  static LayerParameters norm(int64_t channels) {
    return {torch::ones({channels}, kFloat32).requires_grad_(),
            torch::zeros({channels}, kFloat32).requires_grad_()};
  }
  Block block(int64_t in, int64_t out, bool attention) {
    Block block{{norm(in), convolution(in, out, 3), linear(embedding_, 2 * out), norm(out),
                 convolution(out, out, 3, true), std::nullopt},
                std::nullopt};
    if (in != out) block.residual.skip = convolution(in, out, 1);
    if (attention)
      block.attention =
          Attention{norm(out), convolution(out, 3 * out, 1), convolution(out, out, 1, true)};
    return block;
  }

 private:
  LayerParameters layer(torch::IntArrayRef shape, int64_t outputs, int64_t fan_in, bool zero) {
    const double stddev = zero ? 0.0 : std::sqrt(1.0 / static_cast<double>(fan_in));
    const Key own = key_.fold(number_++);
    return {(standard_normal(own, shape, kFloat32) * stddev).requires_grad_(),
            torch::zeros({outputs}, kFloat32).requires_grad_()};
  }

  int64_t embedding_;
  Key key_;
  uint64_t number_ = 0;
};

Unet::Unet(const UnetOptions& options, int64_t inputs, int64_t outputs, const ImageShape& shape,
           const Key& key)
    : options_(resolve_unet(options, shape)) {
  const int64_t width = options_.width;
  const int64_t embedding = 4 * width;
  Builder build(embedding, key);
  time1_ = build.linear(kTimeFeatures, embedding);
  time2_ = build.linear(embedding, embedding);
  const int64_t pixels = options_.patch * options_.patch;  // of a patch
  input_ = build.convolution(inputs * pixels, width, 3);
  int64_t channels = width, side = std::max(shape.height, shape.width) / options_.patch;
  std::vector<int64_t> skips = {width};
  std::vector<bool> attends;
  const size_t count = options_.multipliers.size();
  for (size_t i = 0; i < count; ++i, side = half(side)) {
    Level level;
    const int64_t own = width * options_.multipliers[i];
    attends.push_back(side <= options_.attention);
    for (int64_t n = 0; n < options_.blocks; ++n, channels = own) {
      level.down.push_back(build.block(channels, own, attends[i]));
      skips.push_back(own);
    }
    if (i + 1 < count) {
      level.shrink = build.convolution(own, own, 3);
      skips.push_back(own);
    }
    levels_.push_back(std::move(level));
  }
  middle1_ = build.block(channels, channels, attends.back());
  middle2_ = build.block(channels, channels, false);
  for (size_t i = count; i-- > 0;) {
    const int64_t own = width * options_.multipliers[i];
    for (int64_t n = 0; n <= options_.blocks; ++n, channels = own) {
      levels_[i].up.push_back(build.block(channels + skips.back(), own, attends[i]));
      skips.pop_back();
    }
    if (i > 0) levels_[i].grow = build.convolution(own, own, 3);
  }
  output_norm_ = Builder::norm(channels);
  output_ = build.convolution(channels, outputs * pixels, 3, true);
}

NamedTensors Unet::parameters() const {
  NamedTensors tensors;
  const auto add = [&](const std::string& name, const LayerParameters& layer) {
    tensors.emplace_back(name + ".weight", layer.weight);
    tensors.emplace_back(name + ".bias", layer.bias);
  };
  const auto add_block = [&](const std::string& name, const Block& block) {
    const Residual& residual = block.residual;
    add(name + ".norm1", residual.norm1);
    add(name + ".convolution1", residual.convolution1);
    add(name + ".time", residual.time);
    add(name + ".norm2", residual.norm2);
    add(name + ".convolution2", residual.convolution2);
    if (residual.skip) add(name + ".skip", *residual.skip);
    if (!block.attention) return;
    add(name + ".attention.norm", block.attention->norm);
    add(name + ".attention.heads", block.attention->heads);
    add(name + ".attention.output", block.attention->output);
  };
  add("time1", time1_);
  add("time2", time2_);
  add("input", input_);
  for (size_t i = 0; i < levels_.size(); ++i) {
    for (size_t n = 0; n < levels_[i].down.size(); ++n)
      add_block(fmt::format("down{}.{}", i, n), levels_[i].down[n]);
    if (levels_[i].shrink) add(fmt::format("shrink{}", i), *levels_[i].shrink);
  }
  add_block("middle1", *middle1_);
  add_block("middle2", *middle2_);
  for (size_t i = levels_.size(); i-- > 0;) {
    for (size_t n = 0; n < levels_[i].up.size(); ++n)
      add_block(fmt::format("up{}.{}", i, n), levels_[i].up[n]);
    if (levels_[i].grow) add(fmt::format("grow{}", i), *levels_[i].grow);
  }
  add("output_norm", output_norm_);
  add("output", output_);
  return tensors;
}

torch::Tensor Unet::forward(const Residual& block, const torch::Tensor& x,
                            const torch::Tensor& time) {
  const torch::Tensor hidden = convolution(norm_and_silu(x, block.norm1), block.convolution1);
  const torch::Tensor modulated =
      norm_and_silu(hidden, block.norm2, linear_layer(time, block.time));
  const torch::Tensor change = convolution(modulated, block.convolution2);
  return change + (block.skip ? convolution(x, *block.skip) : x);
}

torch::Tensor Unet::forward(const Attention& block, const torch::Tensor& x) {
  const int64_t batch = x.size(0), channels = x.size(1), pixels = x.size(2) * x.size(3);
  const int64_t size = channels / attention_heads;
  // [B, 3, heads, pixels, size]
  const torch::Tensor all = convolution(norm(x, block.norm), block.heads)
                                .reshape({batch, 3, attention_heads, size, pixels})
                                .transpose(3, 4);
  const torch::Tensor query = all.select(1, 0) * (1.0 / std::sqrt(static_cast<double>(size)));
  const torch::Tensor weights =
      torch::softmax(torch::matmul(query, all.select(1, 1).transpose(2, 3)), 3);
  const torch::Tensor seen = torch::matmul(weights, all.select(1, 2))
                                 .transpose(2, 3)
                                 .reshape({batch, channels, x.size(2), x.size(3)});
  return x + convolution(seen, block.output);
}

torch::Tensor Unet::forward(const Block& block, const torch::Tensor& x, const torch::Tensor& time) {
  const torch::Tensor result = forward(block.residual, x, time);
  return block.attention ? forward(*block.attention, result) : result;
}

torch::Tensor Unet::time_embedding(const torch::Tensor& times) const {
  return torch::silu(linear_layer(torch::silu(linear_layer(time_features(times), time1_)), time2_));
}

torch::Tensor Unet::forward(const torch::Tensor& images, const torch::Tensor& times) const {
  const torch::Tensor time = time_embedding(times).to(images.scalar_type());
  const torch::Tensor places =
      options_.patch == 1 ? images : torch::pixel_unshuffle(images, options_.patch);
  // On the CPU group norm is ten times slower on channels-last images.
  torch::Tensor x = convolution(
      images.is_cuda() ? places.contiguous(torch::MemoryFormat::ChannelsLast) : places, input_);
  std::vector<torch::Tensor> seen = {x};
  for (const Level& level : levels_) {
    for (const Block& block : level.down) seen.push_back(x = forward(block, x, time));
    if (level.shrink) seen.push_back(x = convolution(x, *level.shrink, 2));
  }
  x = forward(*middle2_, forward(*middle1_, x, time), time);
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    for (const Block& block : level->up) {
      x = forward(block, torch::cat({x, seen.back()}, 1), time);
      seen.pop_back();
    }
    if (level->grow)
      x = convolution(torch::upsample_nearest2d(x, {seen.back().size(2), seen.back().size(3)}),
                      *level->grow);
  }
  x = convolution(norm_and_silu(x, output_norm_), output_);
  return options_.patch == 1 ? x : torch::pixel_shuffle(x, options_.patch);
}

}  // namespace facet
