#include "facet/nets/adam.h"

#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include "tests/close.h"

namespace facet {
namespace {

/// The weights of two layers, whose sizes are not multiples of the alignment.
NamedTensors small_network() {
  NamedTensors parameters;
  const auto add = [&](const char* name, torch::IntArrayRef shape) {
    parameters.emplace_back(
        name, (0.3 * standard_normal(Key(3).fold(name), shape, kFloat32)).requires_grad_());
  };
  add("first.weight", {5, 7});
  add("first.bias", {7});
  add("second.weight", {7, 3});
  add("second.bias", {3});
  return parameters;
}

/// The loss of the batch of a step.
torch::Tensor loss_of(const NamedTensors& network, int64_t index) {
  const torch::Tensor x = torch::linspace(-1, 1, 20).view({4, 5}) * (1.0 + 0.1 * double(index));
  const torch::Tensor hidden = torch::tanh(x.matmul(network[0].second) + network[1].second);
  const torch::Tensor output = hidden.matmul(network[2].second) + network[3].second;
  return (output - x.narrow(1, 0, 3)).square().sum();
}

std::vector<torch::Tensor> tensors_of(const NamedTensors& network) {
  std::vector<torch::Tensor> tensors;
  for (const auto& [name, tensor] : network) tensors.push_back(tensor);
  return tensors;
}

torch::Tensor flat(const NamedTensors& network) {
  std::vector<torch::Tensor> parts;
  for (const auto& [name, tensor] : network) parts.push_back(tensor.detach().flatten());
  return torch::cat(parts);
}

/// A step as in training: one layer after another, the last one first.
void step(Adam& adam, const NamedTensors& network, int64_t index, double rate) {
  adam.zero_gradients();
  loss_of(network, index).backward();
  const torch::Tensor norm = adam.gradient_norm();
  adam.begin_step();
  adam.update(adam.range_of({network[2], network[3]}), number(rate), norm);
  adam.update(adam.range_of({network[0], network[1]}), number(rate), norm);
}

TEST(Adam, EqualsLibTorchsAdam) {
  const NamedTensors ours = small_network(), theirs = small_network();
  const AdamOptions options{0.8, 0.99, 1e-6, 0.0};
  Adam adam(ours, options);
  torch::optim::Adam reference(
      tensors_of(theirs),
      torch::optim::AdamOptions(0.01).betas({options.beta1, options.beta2}).eps(options.epsilon));
  for (int64_t i = 0; i < 20; ++i) {
    step(adam, ours, i, 0.01);
    reference.zero_grad();
    loss_of(theirs, i).backward();
    reference.step();
  }
  EXPECT_FALSE(torch::allclose(flat(ours), flat(small_network()), 0, 1e-2))
      << "the parameters changed";
  EXPECT_TRUE(torch::allclose(flat(ours), flat(theirs), 0, 1e-6))
      << (flat(ours) - flat(theirs)).abs().max().item<double>();
}

TEST(Adam, WeightDecayShrinksEveryWeightBeforeTheStep) {
  const NamedTensors decayed = small_network(), plain = small_network();
  const torch::Tensor before = flat(plain);
  AdamOptions options;
  options.weight_decay = 0.5;
  Adam with(decayed, options), without(plain, {});
  step(with, decayed, 0, 0.01);
  step(without, plain, 0, 0.01);
  EXPECT_TRUE(torch::allclose(flat(decayed), flat(plain) - 0.5 * 0.01 * before, 0, 1e-6));
}

TEST(Adam, UpdatesTheParametersOfTheModule) {
  const NamedTensors network = small_network();
  const torch::Tensor before = flat(network);
  Adam adam(network, {});
  EXPECT_TRUE(torch::equal(flat(network), before));
  step(adam, network, 0, 0.1);
  EXPECT_GT((flat(network) - before).abs().min().item<double>(), 0.0);
}

TEST(Adam, GradientNormIsTheNormOfAllGradients) {
  const NamedTensors network = small_network();
  Adam adam(network, {});
  adam.zero_gradients();
  loss_of(network, 0).backward();
  double squares = 0;
  for (const auto& [name, parameter] : network)
    squares += parameter.grad().square().sum().item<double>();
  EXPECT_NEAR(adam.gradient_norm().item<double>(), std::sqrt(squares), 1e-5 * std::sqrt(squares));
}

TEST(Adam, ZeroGradientsClearsTheGradients) {
  const NamedTensors network = small_network();
  Adam adam(network, {});
  loss_of(network, 0).backward();
  adam.zero_gradients();
  EXPECT_EQ(adam.gradient_norm().item<double>(), 0.0);
}

TEST(Adam, GradientsAboveTheMaximumNormAreClipped) {
  // After one step the first moment is (1 - beta1) times the gradient that was used.
  const auto used_norm = [](double limit) {
    const NamedTensors network = small_network();
    AdamOptions options;
    options.clip_grad_norm = limit;
    Adam adam(network, options);
    step(adam, network, 0, 0.01);
    return adam.moments().first.norm().item<double>() / (1 - options.beta1);
  };
  const double whole = used_norm(0.0);
  ASSERT_GT(whole, 0.5);
  EXPECT_NEAR(used_norm(0.25), 0.25, 1e-5);
  EXPECT_NEAR(used_norm(2 * whole), whole, 1e-5 * whole) << "smaller ones are not changed";
}

TEST(Adam, ARestoredOptimizerContinuesIdentically) {
  const NamedTensors one = small_network(), other = small_network();
  Adam first(one, {}), second(other, {});
  const auto train = [](const NamedTensors& network, Adam& adam, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) step(adam, network, i, 0.01);
  };
  train(one, first, 0, 10);
  train(other, second, 0, 5);
  const NamedTensors resumed = small_network();
  torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < resumed.size(); ++i) resumed[i].second.copy_(other[i].second);
  Adam third(resumed, {});
  third.restore(second.steps(), second.moments());
  torch::AutoGradMode gradients(true);
  train(resumed, third, 5, 10);
  EXPECT_TRUE(torch::equal(flat(resumed), flat(one)));
}

}  // namespace
}  // namespace facet
