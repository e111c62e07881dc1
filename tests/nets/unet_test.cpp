// The U-Net: sizes that do not halve evenly, a start at zero, and what its result depends on.
#include "facet/nets/unet.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "tests/close.h"
#include "tests/message_of.h"

namespace facet {
namespace {

const UnetOptions tiny_unet{"custom", 16, {1, 2, 2}, 1, 8};

/// A network in which nothing is zero.
Unet random_unet(const ImageShape& shape) {
  torch::NoGradGuard no_gradient;
  Unet unet(tiny_unet, 2 * shape.channels, shape.channels, shape, Key(1));
  uint64_t number = 0;
  for (const auto& [name, parameter] : unet.parameters())
    parameter.copy_(0.2 * standard_normal(Key(2).fold(number++), parameter.sizes(), kFloat32));
  return unet;
}

torch::Tensor images_for(const ImageShape& shape, int64_t count) {
  return standard_normal(Key(3), {count, 2 * shape.channels, shape.height, shape.width}, kFloat32);
}

TEST(Unet, KeepsTheSizeOfImagesAndStartsAtZero) {
  for (const ImageShape& shape :
       {ImageShape{1, 28, 28}, {3, 32, 32}, {3, 7, 5}, {1, 1, 3}, {3, 17, 30}}) {
    const Unet unet(tiny_unet, 2 * shape.channels, shape.channels, shape, Key(1));
    const torch::Tensor result = unet.forward(images_for(shape, 2), torch::tensor({0.0f, 0.7f}));
    EXPECT_EQ(result.sizes(), (std::vector<int64_t>{2, shape.channels, shape.height, shape.width}));
    EXPECT_EQ(result.abs().max().item<float>(), 0.0f);
  }
}

TEST(Unet, PresetsFollowFromTheSizeOfImages) {
  const auto width = [](int64_t side) {
    return Unet({}, 2, 1, {1, side, side}, Key(1)).options().width;
  };
  EXPECT_EQ(width(28), 32);
  EXPECT_EQ(width(32), 32);
  EXPECT_EQ(width(64), 96);
}

TEST(Unet, TheSmallPresetSeesLargeImagesInPatches) {
  const auto patch = [](int64_t height, int64_t width) {
    return Unet({.preset = "small"}, 2, 1, {1, height, width}, Key(1)).options().patch;
  };
  EXPECT_EQ(patch(32, 32), 1);
  EXPECT_EQ(patch(64, 48), 2);
  EXPECT_EQ(patch(64, 47), 1);  // cannot be halved
  EXPECT_EQ(Unet({}, 2, 1, {1, 64, 64}, Key(1)).options().patch, 1);
}

/// Images [B, C, 2 H, 2 W] as [B, 4 C, H, W]: the pixels of a square are channels.
torch::Tensor squares(const torch::Tensor& images) {
  std::vector<torch::Tensor> channels;
  for (int64_t c = 0; c < images.size(1); ++c)
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t column = 0; column < 2; ++column)
        channels.push_back(images.select(1, c).slice(1, row, {}, 2).slice(2, column, {}, 2));
  return torch::stack(channels, 1);
}

TEST(Unet, PatchesAreTheChannelsOfASmallerImage) {
  torch::NoGradGuard no_gradient;
  const ImageShape shape{1, 12, 8};
  UnetOptions patched = tiny_unet;
  patched.patch = 2;
  const Unet large(patched, 2, 1, shape, Key(1)), small(tiny_unet, 8, 4, {4, 6, 4}, Key(1));
  uint64_t number = 0;
  for (const auto& [name, parameter] : large.parameters())
    parameter.copy_(0.2 * standard_normal(Key(2).fold(number++), parameter.sizes(), kFloat32));
  const NamedTensors copies = small.parameters();
  for (size_t n = 0; n < copies.size(); ++n) copies[n].second.copy_(large.parameters()[n].second);
  const torch::Tensor images = images_for(shape, 3), times = torch::tensor({0.1f, 0.5f, 0.9f});
  EXPECT_TRUE(close(squares(large.forward(images, times)), small.forward(squares(images), times),
                    1e-6, 1e-6));
}

TEST(Unet, AllParametersGetGradients) {
  const ImageShape shape{1, 10, 9};
  const Unet unet = random_unet(shape);
  unet.forward(images_for(shape, 2), torch::tensor({0.2f, 0.7f})).square().sum().backward();
  for (const auto& [name, parameter] : unet.parameters()) {
    ASSERT_TRUE(parameter.grad().defined()) << name;
    EXPECT_GT(parameter.grad().abs().max().item<float>(), 0.0f) << name;
  }
}

TEST(Unet, AnImageDoesNotDependOnOthersInItsBatch) {
  torch::NoGradGuard no_gradient;
  const ImageShape shape{3, 12, 12};
  const Unet unet = random_unet(shape);
  const torch::Tensor images = images_for(shape, 3), times = torch::tensor({0.1f, 0.5f, 0.9f});
  const torch::Tensor together = unet.forward(images, times);
  for (int64_t n = 0; n < 3; ++n)
    // float32 sums in another order
    EXPECT_TRUE(close(unet.forward(images.narrow(0, n, 1), times.narrow(0, n, 1))[0], together[n],
                      1e-4, 1e-4));
}

TEST(Unet, DependsOnTimeAndOnEveryChannel) {
  torch::NoGradGuard no_gradient;
  const ImageShape shape{1, 12, 12};
  const Unet unet = random_unet(shape);
  const torch::Tensor images = images_for(shape, 1);
  const auto change = [&](const torch::Tensor& other, float time) {
    const torch::Tensor before = unet.forward(images, torch::tensor({0.5f}));
    return (unet.forward(other, torch::tensor({time})) - before).abs().max().item<float>();
  };
  EXPECT_GT(change(images, 0.51f), 1e-4f);
  for (int64_t channel = 0; channel < 2; ++channel) {
    torch::Tensor other = images.clone();
    other.select(1, channel).add_(0.1);
    EXPECT_GT(change(other, 0.5f), 1e-4f) << channel;
  }
}

TEST(Unet, RefusesOptionsThatMakeNoNetwork) {
  const auto message = [](const UnetOptions& options) {
    return message_of([&] { Unet(options, 2, 1, {1, 8, 8}, Key(1)); });
  };
  EXPECT_EQ(message({"custom", 20, {1}, 1, 0}),
            "building the U-Net 'custom': found width 20, expected a multiple of 16");
  EXPECT_NE(message({"custom", 16, {}, 1, 0}).find("no multipliers"), std::string::npos);
  EXPECT_NE(message({"huge"}).find("an unknown preset"), std::string::npos);
  EXPECT_NE(message({"custom", 16, {1}, 1, 0, 3}).find("found patches of 3x3 pixels"),
            std::string::npos);
}

}  // namespace
}  // namespace facet
