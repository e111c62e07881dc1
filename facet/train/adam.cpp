#include "facet/train/adam.h"

#include <cmath>

#include "facet/cuda/ops.h"

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

void adam_update(torch::Tensor parameters, const torch::Tensor& gradients, AdamMoments& moments,
                 const torch::Tensor& step, const torch::Tensor& learning_rate,
                 const AdamOptions& options) {
  torch::NoGradGuard no_gradient;
  moments.first.lerp_(gradients, 1.0 - options.beta1);
  moments.second.mul_(options.beta2).addcmul_(gradients, gradients, 1.0 - options.beta2);
  if (step.device().is_cpu()) {
    const auto steps = static_cast<double>(step.item<int64_t>());
    const double correction1 = 1.0 - std::pow(options.beta1, steps);
    const double correction2 = 1.0 - std::pow(options.beta2, steps);
    const torch::Tensor spread =
        moments.second.sqrt().mul_(1.0 / std::sqrt(correction2)).add_(options.epsilon);
    parameters.addcdiv_(moments.first, spread, -learning_rate.item<double>() / correction1);
    return;
  }
  const torch::Tensor steps = step.to(torch::kFloat64);
  const torch::Tensor correction1 = 1.0 - torch::pow(options.beta1, steps);
  const torch::Tensor correction2 = 1.0 - torch::pow(options.beta2, steps);
  const torch::Tensor spread = moments.second.sqrt().div_(correction2.sqrt()).add_(options.epsilon);
  parameters.sub_((moments.first / spread).mul_(learning_rate / correction1));
}

Adam::Adam(torch::nn::Module& module, const AdamOptions& options) : options_(options) {
  torch::NoGradGuard no_gradient;
  const auto parameters = module.parameters();
  int64_t total = 0;
  for (const torch::Tensor& parameter : parameters) total += aligned(parameter.numel());
  parameters_ = torch::zeros({total}, parameters.front().options().requires_grad(false));
  gradients_ = torch::zeros_like(parameters_);
  moments_ = {torch::zeros_like(parameters_), torch::zeros_like(parameters_)};
  steps_ = torch::zeros({}, parameters_.options().dtype(torch::kInt64));
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

torch::Tensor Adam::gradient_norm() const {
  return cuda::takes(gradients_) ? cuda::gradient_norm(gradients_) : gradients_.norm();
}

void Adam::step(const torch::Tensor& learning_rate, const torch::Tensor& norm) {
  torch::NoGradGuard no_gradient;
  steps_ += 1;
  if (cuda::takes(parameters_)) {
    const auto& [beta1, beta2, epsilon, largest_norm] = options_;
    return cuda::adam_step(parameters_, gradients_, moments_.first, moments_.second, {},
                           {beta1, beta2, epsilon, largest_norm, learning_rate, steps_, norm});
  }
  if (options_.largest_gradient_norm > 0)
    gradients_.mul_((options_.largest_gradient_norm / norm).clamp_max(1.0));
  adam_update(parameters_, gradients_, moments_, steps_, learning_rate, options_);
}

void Adam::reset() {
  steps_.zero_();
  moments_.first.zero_();
  moments_.second.zero_();
}

void Adam::restore(int64_t steps, const AdamMoments& moments) {
  steps_.fill_(steps);
  moments_.first.copy_(moments.first);
  moments_.second.copy_(moments.second);
}

}  // namespace facet
