// Networks on the kernels of cuda/stack.h against the same networks in LibTorch's float32: outputs,
// gradients of the parameters, of the images and of the latent vector, for the paper's two networks
// and for sizes that fit no tile.
#include <gtest/gtest.h>

#include "facet/core/process.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/cuda/kernel_target.h"
#include "facet/model/vae.h"
#include "facet/nets/adam.h"

namespace facet {
namespace {

struct Network {
  std::string name;
  NetworkOptions options;
  ImageShape shape;
  std::string likelihood;
};

std::vector<Network> networks() {
  NetworkOptions odd;
  odd.preset = "custom";
  odd.channels = {8, 24, 40};
  odd.strides = {1, 2, 2};
  NetworkOptions even_kernel;
  even_kernel.preset = "custom";
  even_kernel.channels = {16, 32};
  even_kernel.strides = {2, 2};
  even_kernel.kernel = 4;
  NetworkOptions narrow;
  narrow.preset = "custom";
  narrow.channels = {5, 7};
  narrow.strides = {2, 1};
  NetworkOptions paper28;
  paper28.preset = "paper28";
  NetworkOptions small32;
  return {{"paper28", paper28, {1, 28, 28}, "bernoulli"},
          {"small32", small32, {3, 32, 32}, "gaussian"},
          {"odd channels", odd, {3, 13, 11}, "gaussian"},
          {"even kernel", even_kernel, {1, 16, 16}, "bernoulli"},
          {"narrow everywhere", narrow, {2, 9, 9}, "bernoulli"}};
}

/// ||a - b|| / ||b||.
double distance(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor difference = a.to(kFloat64) - b.to(kFloat64);
  return difference.norm().item<double>() / (b.to(kFloat64).norm().item<double>() + 1e-12);
}

struct Pass {
  torch::Tensor head, output, x_gradient, z_gradient;
  std::vector<std::pair<std::string, torch::Tensor>> gradients;
};

/// A forward and a backward pass through both networks, `times` over.
Pass pass(Vae& model, const torch::Tensor& x, const torch::Tensor& z, int times) {
  Pass result;
  if (model.accelerated()) model.begin_gradients();
  torch::Tensor loss;
  const torch::Tensor image = x.detach().clone().requires_grad_();
  const torch::Tensor leaf = z.detach().clone().requires_grad_();
  for (int i = 0; i < times; ++i) {
    const Encoding encoding = model.encode(image);
    result.head = torch::cat({encoding.mean, encoding.log_variance}, 1).detach();
    result.output = model.decode(leaf);
    const torch::Tensor one = model.likelihood().log_density(x, result.output).mean() -
                              (encoding.mean.square() + encoding.log_variance.exp()).sum(1).mean();
    loss = loss.defined() ? loss + one : one;
  }
  loss.backward();
  if (model.accelerated()) model.finish_gradients();
  result.output = result.output.detach();
  result.x_gradient = image.grad();
  result.z_gradient = leaf.grad();
  for (const auto& [name, parameter] : model.parameters())
    result.gradients.emplace_back(name, parameter.grad().clone());
  return result;
}

/// Runs a model's networks on our kernels, in bfloat16 or in TF32.
void accelerate(Vae& model, Adam& adam, bool bf16) {
  model.accelerate(
      bf16 ? [&](const torch::Tensor& parameter) { return adam.bf16_copy_of(parameter); }
           : Bf16Copies());
}

ModelOptions options_of(const Network& network) {
  ModelOptions options;
  options.network = network.options;
  options.likelihood.kind = network.likelihood;
  options.factors = {FactorOptions{"factor", 4, 10}};
  return options;
}

/// What kernels may use: all that the GPU has, or what another one has besides.
struct Target {
  std::string name;
  cuda::KernelTarget most;
};

std::vector<Target> targets() {
  return {{"as_it_is", {true, true, true, 1 << 20}},
          {"as_80", {true, false, false, 163 << 10}},
          {"as_86", {true, false, false, 99 << 10}},
          {"as_120", {true, true, false, 99 << 10}}};
}

/// In bfloat16, or in TF32.
class Stacks : public testing::TestWithParam<std::tuple<bool, Target>> {
 protected:
  void SetUp() override {
    if (!cuda::available() || !cuda::kernels_available(device_))
      GTEST_SKIP() << "NO GPU WITH KERNELS: networks on kernels are not tested";
    use_float32_convolutions();
  }
  bool bf16() const { return std::get<0>(GetParam()); }

  torch::Device device_{torch::kCUDA, 0};
  cuda::LimitedTarget limited_{std::get<1>(GetParam()).most};
};

TEST_P(Stacks, AreLibTorchsNetworks) {
  for (const Network& network : networks())
    for (const int times : {1, 2}) {
      SCOPED_TRACE(network.name + (times == 2 ? ", twice" : ""));
      const ModelOptions options = options_of(network);
      Vae plain(options, network.shape, Key(3)), fast(options, network.shape, Key(3));
      plain.move_to(device_);
      fast.move_to(device_);
      Adam plain_adam(plain.parameters(), {}), fast_adam(fast.parameters(), {});
      accelerate(fast, fast_adam, bf16());
      ASSERT_TRUE(fast.accelerated());
      const int64_t batch = 5;
      const torch::Tensor x = uniform(
          Key(4), {batch, network.shape.channels, network.shape.height, network.shape.width},
          torch::TensorOptions().device(device_));
      const torch::Tensor z =
          standard_normal(Key(5), {batch, 10}, torch::TensorOptions().device(device_));
      const Pass expected = pass(plain, x, z, times), found = pass(fast, x, z, times);
      // Each layer rounds its operands, to ten bits of mantissa or to seven, and where that moves a
      // number over zero a ReLU blocks other gradients; a wrong index would cost about 1.
      const double allowed = bf16() ? 4e-2 : 4e-3, allowed_gradient = bf16() ? 0.3 : 0.1;
      EXPECT_LT(distance(found.head, expected.head), allowed);
      EXPECT_LT(distance(found.output, expected.output), allowed);
      EXPECT_LT(distance(found.x_gradient, expected.x_gradient), allowed_gradient);
      EXPECT_LT(distance(found.z_gradient, expected.z_gradient), allowed_gradient);
      for (size_t i = 0; i < expected.gradients.size(); ++i)
        EXPECT_LT(distance(found.gradients[i].second, expected.gradients[i].second),
                  allowed_gradient)
            << expected.gradients[i].first;
      const Pass again = pass(fast, x, z, times);
      EXPECT_TRUE(torch::equal(again.output, found.output));
      for (size_t i = 0; i < found.gradients.size(); ++i)
        EXPECT_TRUE(torch::equal(again.gradients[i].second, found.gradients[i].second))
            << found.gradients[i].first << " differs from run to run";
    }
}

TEST_P(Stacks, ABackwardPassOutlivesItsNetwork) {
  const Network network = networks().front();
  const torch::Tensor x =
      uniform(Key(4), {3, network.shape.channels, network.shape.height, network.shape.width},
              torch::TensorOptions().device(device_));
  const auto input_gradient = [&](bool dropped) {
    auto model = std::make_unique<Vae>(options_of(network), network.shape, Key(3));
    model->move_to(device_);
    Adam adam(model->parameters(), {});
    accelerate(*model, adam, bf16());
    model->begin_gradients();
    const torch::Tensor image = x.detach().clone().requires_grad_();
    // The encoder's own output goes through it again, so that its last input hangs on itself.
    const torch::Tensor decoded = model->decode(model->encode(image).mean);
    const torch::Tensor loss = model->encode(torch::sigmoid(decoded)).mean.square().sum();
    if (dropped) model.reset();
    loss.backward();
    cuda::synchronize(device_);
    return image.grad();
  };
  EXPECT_TRUE(torch::equal(input_gradient(true), input_gradient(false)));
}

INSTANTIATE_TEST_SUITE_P(Precisions, Stacks,
                         testing::Combine(testing::Bool(), testing::ValuesIn(targets())),
                         [](const auto& which) {
                           return (std::get<0>(which.param) ? "bf16_" : "tf32_") +
                                  std::get<1>(which.param).name;
                         });

}  // namespace
}  // namespace facet
