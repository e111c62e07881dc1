#include "facet/nets/adam.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/close.h"

namespace facet {
namespace {

/// Two layers whose parameters have sizes that are not multiples of the alignment.
torch::nn::Sequential small_module() {
  torch::manual_seed(3);
  return torch::nn::Sequential(torch::nn::Linear(5, 7), torch::nn::Tanh(), torch::nn::Linear(7, 3));
}

NamedTensors parameters_of(const torch::nn::Module& module) {
  NamedTensors tensors;
  for (const auto& parameter : module.named_parameters())
    tensors.emplace_back(parameter.key(), parameter.value());
  return tensors;
}

torch::Tensor loss_of(torch::nn::Sequential& module, int64_t step) {
  const torch::Tensor x = torch::linspace(-1, 1, 20).view({4, 5}) * (1.0 + 0.1 * double(step));
  return (module->forward(x) - x.narrow(1, 0, 3)).square().sum();
}

torch::Tensor flat(const torch::nn::Sequential& module) {
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& parameter : module->parameters())
    parts.push_back(parameter.detach().flatten().clone());
  return torch::cat(parts);
}

/// A step as in training: one range after another, the last one first.
void step(Adam& adam, const torch::nn::Sequential& module, double rate) {
  const torch::Tensor norm = adam.gradient_norm();
  adam.begin_step();
  for (const size_t layer : {2, 0})
    adam.update(adam.range_of(parameters_of(*module->ptr(layer))), number(rate), norm);
}

TEST(Adam, EqualsLibTorchsAdam) {
  torch::nn::Sequential ours = small_module(), theirs = small_module();
  const AdamOptions options{0.8, 0.99, 1e-6, 0.0};
  Adam adam(parameters_of(*ours), options);
  torch::optim::Adam reference(
      theirs->parameters(),
      torch::optim::AdamOptions(0.01).betas({options.beta1, options.beta2}).eps(options.epsilon));
  for (int64_t i = 0; i < 20; ++i) {
    adam.zero_gradients();
    loss_of(ours, i).backward();
    step(adam, ours, 0.01);
    reference.zero_grad();
    loss_of(theirs, i).backward();
    reference.step();
  }
  EXPECT_FALSE(torch::allclose(flat(ours), flat(small_module()), 0, 1e-2))
      << "the parameters changed";
  EXPECT_TRUE(torch::allclose(flat(ours), flat(theirs), 0, 1e-6))
      << (flat(ours) - flat(theirs)).abs().max().item<double>();
}

TEST(Adam, WeightDecayShrinksEveryWeightBeforeTheStep) {
  torch::nn::Sequential decayed = small_module(), plain = small_module();
  const torch::Tensor before = flat(plain);
  AdamOptions options;
  options.weight_decay = 0.5;
  Adam with(parameters_of(*decayed), options), without(parameters_of(*plain), {});
  for (auto& [adam, module] : {std::pair<Adam*, torch::nn::Sequential*>(&with, &decayed),
                               std::pair<Adam*, torch::nn::Sequential*>(&without, &plain)}) {
    adam->zero_gradients();
    loss_of(*module, 0).backward();
    step(*adam, *module, 0.01);
  }
  EXPECT_TRUE(torch::allclose(flat(decayed), flat(plain) - 0.5 * 0.01 * before, 0, 1e-6));
}

TEST(Adam, UpdatesTheParametersOfTheModule) {
  torch::nn::Sequential module = small_module();
  const torch::Tensor before = flat(module);
  Adam adam(parameters_of(*module), {});
  EXPECT_TRUE(torch::equal(flat(module), before));
  adam.zero_gradients();
  loss_of(module, 0).backward();
  step(adam, module, 0.1);
  EXPECT_GT((flat(module) - before).abs().min().item<double>(), 0.0);
}

TEST(Adam, GradientNormIsTheNormOfAllGradients) {
  torch::nn::Sequential module = small_module();
  Adam adam(parameters_of(*module), {});
  adam.zero_gradients();
  loss_of(module, 0).backward();
  double squares = 0;
  for (const torch::Tensor& parameter : module->parameters())
    squares += parameter.grad().square().sum().item<double>();
  EXPECT_NEAR(adam.gradient_norm().item<double>(), std::sqrt(squares), 1e-5 * std::sqrt(squares));
}

TEST(Adam, ZeroGradientsClearsTheGradients) {
  torch::nn::Sequential module = small_module();
  Adam adam(parameters_of(*module), {});
  loss_of(module, 0).backward();
  adam.zero_gradients();
  EXPECT_EQ(adam.gradient_norm().item<double>(), 0.0);
}

TEST(Adam, GradientsAboveTheMaximumNormAreClipped) {
  // After one step the first moment is (1 - beta1) times the gradient that was used.
  const auto used_norm = [](double limit) {
    torch::nn::Sequential module = small_module();
    AdamOptions options;
    options.clip_grad_norm = limit;
    Adam adam(parameters_of(*module), options);
    adam.zero_gradients();
    loss_of(module, 0).backward();
    step(adam, module, 0.01);
    return adam.moments().first.norm().item<double>() / (1 - options.beta1);
  };
  const double whole = used_norm(0.0);
  ASSERT_GT(whole, 0.5);
  EXPECT_NEAR(used_norm(0.25), 0.25, 1e-5);
  EXPECT_NEAR(used_norm(2 * whole), whole, 1e-5 * whole) << "smaller ones are not changed";
}

TEST(Adam, ARestoredOptimizerContinuesIdentically) {
  torch::nn::Sequential one = small_module(), other = small_module();
  Adam first(parameters_of(*one), {}), second(parameters_of(*other), {});
  const auto train = [](torch::nn::Sequential& module, Adam& adam, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      adam.zero_gradients();
      loss_of(module, i).backward();
      step(adam, module, 0.01);
    }
  };
  train(one, first, 0, 10);
  train(other, second, 0, 5);
  torch::nn::Sequential resumed = small_module();
  torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < resumed->parameters().size(); ++i)
    resumed->parameters()[i].copy_(other->parameters()[i]);
  Adam third(parameters_of(*resumed), {});
  third.restore(second.steps(), second.moments());
  torch::AutoGradMode gradients(true);
  train(resumed, third, 5, 10);
  EXPECT_TRUE(torch::equal(flat(resumed), flat(one)));
}

}  // namespace
}  // namespace facet
