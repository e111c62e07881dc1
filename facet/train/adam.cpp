#include "facet/train/adam.h"

#include <cmath>

namespace facet {

namespace {

/// Every parameter starts on a boundary of 64 bytes, where vector instructions like it.
constexpr int64_t alignment = 16;

int64_t aligned(int64_t count) { return (count + alignment - 1) / alignment * alignment; }

}  // namespace

void AdamOptions::visit(OptionVisitor& visitor) {
  visitor.option("beta1", beta1, "Decay of the gradient's running mean.", between(0, 1));
  visitor.option("beta2", beta2, "Decay of the squared gradient's running mean.", between(0, 1));
  visitor.option("epsilon", epsilon, "Keeps the step finite where gradients vanish.",
                 at_least(1e-30));
  visitor.option("largest_gradient_norm", largest_gradient_norm,
                 "Gradients longer than this are shortened to it; 0 leaves them.", at_least(0));
}

Adam::Adam(torch::nn::Module& module, const AdamOptions& options) : options_(options) {
  torch::NoGradGuard no_gradient;
  const auto parameters = module.parameters();
  int64_t total = 0;
  for (const torch::Tensor& parameter : parameters) total += aligned(parameter.numel());
  parameters_ = torch::zeros({total}, parameters.front().options().requires_grad(false));
  gradients_ = torch::zeros_like(parameters_);
  first_ = torch::zeros_like(parameters_);
  second_ = torch::zeros_like(parameters_);
  int64_t offset = 0;
  for (torch::Tensor parameter : parameters) {
    const auto view = [&](const torch::Tensor& flat) {
      return flat.narrow(0, offset, parameter.numel()).view(parameter.sizes());
    };
    view(parameters_).copy_(parameter);
    parameter.set_data(view(parameters_));
    parameter.mutable_grad() = view(gradients_);
    offset += aligned(parameter.numel());
  }
}

void Adam::step(double learning_rate, const torch::Tensor& norm) {
  torch::NoGradGuard no_gradient;
  if (options_.largest_gradient_norm > 0)
    gradients_.mul_((options_.largest_gradient_norm / norm).clamp_max(1.0));
  ++steps_;
  const double correction1 = 1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
  first_.lerp_(gradients_, 1.0 - options_.beta1);
  second_.mul_(options_.beta2).addcmul_(gradients_, gradients_, 1.0 - options_.beta2);
  const torch::Tensor spread =
      second_.sqrt().mul_(1.0 / std::sqrt(correction2)).add_(options_.epsilon);
  parameters_.addcdiv_(first_, spread, -learning_rate / correction1);
}

void Adam::forget(const torch::Tensor& parameter) {
  for (torch::Tensor moment : {first_, second_})
    moment.narrow(0, parameter.storage_offset(), parameter.numel()).zero_();
}

void Adam::restore(int64_t steps, const torch::Tensor& first, const torch::Tensor& second) {
  steps_ = steps;
  first_.copy_(first);
  second_.copy_(second);
}

}  // namespace facet
