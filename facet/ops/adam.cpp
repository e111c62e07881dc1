#include "facet/ops/adam.h"

#include <cmath>

#include "facet/core/torch.h"
#include "facet/ops/dispatch.h"

namespace facet::ops {

namespace {

/// Moves the parameters by the running means. On the CPU the step's numbers are read; on a GPU that
/// would wait for it.
void move(const torch::Tensor& parameters, const torch::Tensor& first, const torch::Tensor& second,
          const AdamNumbers& numbers) {
  const torch::Tensor& rate = numbers.learning_rate;
  if (numbers.step.device().is_cpu()) {
    const auto steps = static_cast<double>(numbers.step.item<int64_t>());
    const double correction1 = 1.0 - std::pow(numbers.beta1, steps);
    const double correction2 = 1.0 - std::pow(numbers.beta2, steps);
    const torch::Tensor spread =
        second.sqrt().mul_(1.0 / std::sqrt(correction2)).add_(numbers.epsilon);
    parameters.addcdiv_(first, spread, -rate.item<double>() / correction1);
    return;
  }
  const torch::Tensor steps = numbers.step.to(kFloat64);
  const torch::Tensor correction1 = 1.0 - torch::pow(numbers.beta1, steps);
  const torch::Tensor correction2 = 1.0 - torch::pow(numbers.beta2, steps);
  const torch::Tensor spread = second.sqrt().div_(correction2.sqrt()).add_(numbers.epsilon);
  parameters.sub_((first / spread).mul_(rate / correction1));
}

}  // namespace

void adam_step(const torch::Tensor& parameters, const torch::Tensor& gradients,
               const torch::Tensor& first, const torch::Tensor& second,
               const torch::Tensor& bf16_copy, const AdamNumbers& numbers) {
  torch::NoGradGuard no_gradient;
  if (kernel_computes(parameters, kFloat32))
    return cuda::adam_step(parameters, gradients, first, second, bf16_copy, numbers);
  if (numbers.clip_grad_norm > 0)
    gradients.mul_((numbers.clip_grad_norm / numbers.norm).clamp_max(1.0));
  first.lerp_(gradients, 1.0 - numbers.beta1);
  second.mul_(numbers.beta2).addcmul_(gradients, gradients, 1.0 - numbers.beta2);
  if (numbers.weight_decay > 0) parameters.mul_(1.0 - numbers.weight_decay * numbers.learning_rate);
  move(parameters, first, second, numbers);
  if (bf16_copy.defined()) bf16_copy.copy_(parameters);
}

torch::Tensor gradient_norm(const torch::Tensor& gradients) {
  if (kernel_computes(gradients, kFloat32)) return cuda::gradient_norm(gradients);
  return gradients.norm();
}

}  // namespace facet::ops
