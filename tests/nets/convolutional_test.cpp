// The networks: the paper's have the paper's size, every decoder's output has the size of the
// image, and impossible stacks are refused.
#include "facet/nets/convolutional.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/model/vae.h"
#include "tests/message_of.h"

namespace facet {
namespace {

ModelOptions model_options(const std::string& preset, const std::string& likelihood,
                           std::vector<FactorOptions> factors) {
  ModelOptions options;
  options.network.preset = preset;
  options.likelihood.kind = likelihood;
  options.factors = std::move(factors);
  return options;
}

NetworkOptions custom(std::vector<int64_t> channels, std::vector<int64_t> strides, int64_t kernel) {
  return {.preset = "custom", .channels = channels, .strides = strides, .kernel = kernel};
}

TEST(Network, Paper28Has567745Parameters) {
  const Vae model(model_options("paper28", "bernoulli", {{"digit", 16, 64}}), {1, 28, 28}, Key(1));
  // By hand: 9 weights per pair of channels, a bias per channel, linear layers of 1024 features.
  EXPECT_EQ(model.network_parameters(), 567'745);
}

TEST(Network, Paper28HalvesToFourByFour) {
  const auto layers = convolution_layers({.preset = "paper28"}, {1, 28, 28});
  std::vector<int64_t> sides;
  for (const ConvolutionLayer& layer : layers) sides.push_back(layer.height_out);
  EXPECT_EQ(sides, (std::vector<int64_t>{28, 14, 14, 7, 7, 4, 4, 4}));
  EXPECT_EQ(layers.back().channels_out * layers.back().height_out * layers.back().width_out, 1024);
}

TEST(Network, Paper64HasAPinnedSize) {
  // Two unsupervised factors of 128 dimensions, and a mean and a stddev per colour.
  const Vae model(model_options("paper64", "gaussian", {{"a", 4, 128}, {"b", 4, 128}}), {3, 64, 64},
                  Key(1));
  const auto convolutions = [](const std::vector<int64_t>& channels, int64_t kernel) {
    int64_t sum = 0;
    for (size_t i = 0; i + 1 < channels.size(); ++i)
      sum += (channels[i] * kernel * kernel + 1) * channels[i + 1];
    return sum;
  };
  const int64_t kernel = model.options().network.kernel, features = 1024 * 4 * 4;
  EXPECT_EQ(model.network_parameters(), convolutions({3, 128, 256, 512, 1024}, kernel) +
                                            (features + 1) * 512 + (256 + 1) * features +
                                            convolutions({1024, 512, 256, 128, 6}, kernel));
  EXPECT_EQ(model.network_parameters(), 24'999'302);
}

TEST(Network, TheDecodersOutputHasTheSizeOfTheImage) {
  const std::vector<ImageShape> shapes = {{1, 28, 28}, {3, 27, 27}, {1, 37, 21}, {3, 8, 13}};
  for (const ImageShape& shape : shapes)
    for (int64_t kernel = 2; kernel <= 5; ++kernel)
      for (int64_t stride = 1; stride <= std::min<int64_t>(3, kernel); ++stride) {
        SCOPED_TRACE(testing::Message() << shape.height << "x" << shape.width << ", kernel "
                                        << kernel << ", stride " << stride);
        const auto layers = convolution_layers(custom({4, 5}, {stride, stride}, kernel), shape);
        Encoder encoder(layers, 6, Key(2));
        Decoder decoder(layers, 3, 2 * shape.channels, Key(3));
        const torch::Tensor code =
            encoder.forward(torch::rand({2, shape.channels, shape.height, shape.width}));
        EXPECT_EQ(code.sizes(), (std::vector<int64_t>{2, 6}));
        EXPECT_EQ(decoder.forward(code.narrow(1, 0, 3)).sizes(),
                  (std::vector<int64_t>{2, 2 * shape.channels, shape.height, shape.width}));
      }
}

TEST(Network, LayerShapesAreThoseOfLibTorchsConvolutions) {
  const ImageShape shape{1, 19, 30};
  for (int64_t kernel = 1; kernel <= 5; ++kernel) {
    const auto layers =
        convolution_layers(custom({2, 3, 4}, {1, kernel > 1 ? 2 : 1, 1}, kernel), shape);
    torch::Tensor x = torch::rand({1, 1, 19, 30});
    for (const ConvolutionLayer& layer : layers) {
      x = torch::conv2d(x, torch::rand({layer.channels_out, layer.channels_in, kernel, kernel}), {},
                        layer.stride, (kernel - 1) / 2);
      EXPECT_EQ(x.sizes(),
                (std::vector<int64_t>{1, layer.channels_out, layer.height_out, layer.width_out}));
    }
  }
}

TEST(Network, InitialisationIsAFunctionOfTheKeyAndKeepsTheScaleOfActivations) {
  const auto layers = convolution_layers({.preset = "paper28"}, {1, 28, 28});
  const torch::Tensor x = standard_normal(Key(4), {16, 1, 28, 28}, kFloat32);
  Encoder once(layers, 128, Key(5)), again(layers, 128, Key(5)), other(layers, 128, Key(6));
  EXPECT_TRUE(torch::equal(once.forward(x), again.forward(x)));
  EXPECT_FALSE(torch::equal(once.forward(x), other.forward(x)));
  // He's initialisation preserves the second moment through eight layers, up to border effects; an
  // error of a factor of two per layer would give a factor of 256.
  const double stddev = once.forward(x).std().item<double>();
  EXPECT_GT(stddev, 0.1);
  EXPECT_LT(stddev, 3.0);
  Decoder decoder(layers, 64, 1, Key(7));
  const double output =
      decoder.forward(standard_normal(Key(8), {16, 64}, kFloat32)).std().item<double>();
  EXPECT_GT(output, 0.1);
  EXPECT_LT(output, 3.0);
}

TEST(Network, AutoFollowsTheSizeOfTheImages) {
  const auto channels = [](const ImageShape& shape) {
    std::vector<int64_t> result;
    for (const ConvolutionLayer& layer : convolution_layers({"auto"}, shape))
      result.push_back(layer.channels_out);
    return result;
  };
  EXPECT_EQ(channels({3, 32, 32}), (std::vector<int64_t>{32, 64, 64}));  // as small32
  EXPECT_EQ(channels({3, 256, 256}), (std::vector<int64_t>{32, 64, 64, 128, 128, 128}));
  for (const ImageShape& shape : std::vector<ImageShape>{
           {1, 1, 1}, {1, 3, 2}, {3, 5, 5}, {3, 7, 200}, {3, 100, 75}, {3, 256, 256}}) {
    const ConvolutionLayer last = convolution_layers({"auto"}, shape).back();
    EXPECT_LE(std::min(last.height_out, last.width_out), 4);
    EXPECT_GE(std::min(last.height_out, last.width_out), 1);
  }
}

TEST(Network, TheLargestTensorIsALayerOrThePatchesOfImages) {
  const auto largest = [](const NetworkOptions& options, const ImageShape& shape,
                          int64_t channels) {
    return largest_tensor(convolution_layers(options, shape), channels);
  };
  EXPECT_EQ(largest(custom({600, 64}, {1, 2}, 3), {1, 28, 28}, 1), 28 * 28 * 600);
  // Six channels under a kernel of 7 are 294 numbers, with a bias, filled up to 320.
  EXPECT_GE(largest(custom({32, 64}, {1, 2}, 7), {3, 64, 64}, 6), 64 * 64 * 320);
  ModelOptions options = model_options("paper28", "gaussian", {{"one", 2, 2}});
  options.network = custom({32, 64}, {1, 2}, 7);
  const Vae model(options, {3, 64, 64}, Key(1));
  const int64_t all = model.images_at_once(1'000'000, int64_t{1} << 40);
  EXPECT_GT(all, 100);
  EXPECT_LT(all * 64 * 64 * 320, int64_t{1} << 31) << "kernels count in 32 bits";
}

TEST(Network, ImpossibleStacksAreRefused) {
  const auto expect_message = [](const NetworkOptions& options, const std::string& part,
                                 const ImageShape& shape = {1, 8, 8}) {
    const std::string text = message_of([&] { convolution_layers(options, shape); });
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_message(custom({}, {}, 3), "0 channels and 0 strides");
  expect_message(custom({4, 4}, {1}, 3), "2 channels and 1 strides");
  expect_message(custom({4}, {3}, 2), "no smaller than the stride");
  expect_message(custom({4, 4}, {2, 2}, 4), "1x1 pixels under a kernel of 4", {1, 2, 2});
  NetworkOptions both = custom({4}, {1}, 3);
  both.preset = "small32";
  expect_message(both, "beside a preset");
}

}  // namespace
}  // namespace facet
