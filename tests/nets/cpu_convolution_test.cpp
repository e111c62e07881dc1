// Our convolutions on the CPU against LibTorch's: the same values and gradients, in float64 up to
// the order of sums and in float32, where oneDNN computes them, up to its rounding.
#include "facet/nets/cpu_convolution.h"

#include <gtest/gtest.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"

namespace facet {
namespace {

using Operation = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;

/// The value of an operation on random leaves of these shapes, and the gradients of a random linear
/// function of it.
std::vector<torch::Tensor> value_and_gradients(const Operation& operation,
                                               const std::vector<std::vector<int64_t>>& shapes,
                                               torch::ScalarType type) {
  std::vector<torch::Tensor> leaves;
  for (size_t i = 0; i < shapes.size(); ++i)
    leaves.push_back(standard_normal(Key(1).fold(i), shapes[i], type).requires_grad_());
  const torch::Tensor value = operation(leaves);
  (value * standard_normal(Key(2), value.sizes(), type)).sum().backward();
  std::vector<torch::Tensor> all = {value.detach()};
  for (const torch::Tensor& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

void expect_same(const Operation& ours, const Operation& theirs,
                 const std::vector<std::vector<int64_t>>& shapes) {
  for (const auto& [type, tolerance] : {std::pair{kFloat64, 1e-12}, {kFloat32, 1e-5}}) {
    const auto found = value_and_gradients(ours, shapes, type);
    const auto expected = value_and_gradients(theirs, shapes, type);
    const std::vector<std::string> names = {"value", "images", "weight", "bias"};
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].sizes(), expected[i].sizes()) << names[i];
      const double scale = expected[i].abs().max().item<double>();
      EXPECT_LT((found[i] - expected[i]).abs().max().item<double>(), tolerance * scale)
          << names[i] << " in " << torch::toString(type);
    }
  }
}

TEST(CpuConvolution, TransposedConvolutionEqualsLibTorchs) {
  for (int64_t kernel = 2; kernel <= 5; ++kernel)
    for (int64_t stride = 1; stride <= std::min<int64_t>(3, kernel); ++stride)
      for (int64_t extra = 0; extra < stride; ++extra) {
        SCOPED_TRACE(testing::Message() << "kernel " << kernel << ", stride " << stride
                                        << ", output padding " << extra);
        const int64_t padding = (kernel - 1) / 2;
        const auto side = [&](int64_t from) {
          return (from - 1) * stride - 2 * padding + kernel + extra;
        };
        expect_same(
            [&](const auto& leaf) {
              return transposed_convolution(leaf[0], leaf[1], leaf[2], stride, padding, side(5),
                                            side(4));
            },
            [&](const auto& leaf) {
              return torch::conv_transpose2d(leaf[0], leaf[1], leaf[2], stride, padding, extra);
            },
            {{3, 17, 5, 4}, {17, 6, kernel, kernel}, {6}});
      }
}

TEST(CpuConvolution, NarrowConvolutionEqualsLibTorchs) {
  for (const int64_t kernel : {1, 3, 5})
    for (const int64_t channels : {1, 2, 6}) {
      SCOPED_TRACE(testing::Message() << "kernel " << kernel << ", " << channels << " channels");
      expect_same(
          [&](const auto& leaf) { return narrow_convolution(leaf[0], leaf[1], leaf[2]); },
          [&](const auto& leaf) { return torch::conv2d(leaf[0], leaf[1], leaf[2], 1, kernel / 2); },
          {{3, 17, 6, 9}, {channels, 17, kernel, kernel}, {channels}});
    }
}

TEST(CpuConvolution, NarrowConvolutionAcceptsImagesSmallerThanTheKernel) {
  expect_same([](const auto& leaf) { return narrow_convolution(leaf[0], leaf[1], leaf[2]); },
              [](const auto& leaf) { return torch::conv2d(leaf[0], leaf[1], leaf[2], 1, 2); },
              {{2, 3, 1, 2}, {1, 3, 5, 5}, {1}});
}

TEST(CpuConvolution, ChannelsLastMakesTheChannelsOfAPixelAdjacent) {
  for (const int64_t channels : {1, 3}) {
    const torch::Tensor images = standard_normal(Key(3), {2, channels, 4, 5}, kFloat32);
    const torch::Tensor converted = channels_last(images);
    EXPECT_TRUE(torch::equal(converted, images));
    EXPECT_EQ(converted.strides(),
              (std::vector<int64_t>{20 * channels, 1, 5 * channels, channels}));
    EXPECT_EQ(channels_last(converted).data_ptr(), converted.data_ptr()) << "no needless copy";
  }
}

}  // namespace
}  // namespace facet
