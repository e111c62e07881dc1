#include "facet/cuda/adam_ops.h"

#include "facet/core/torch.h"
#include "facet/cuda/adam.h"
#include "facet/cuda/launch.h"

namespace facet::cuda {

void adam_step(const torch::Tensor& parameters, const torch::Tensor& gradients,
               const torch::Tensor& first, const torch::Tensor& second,
               const torch::Tensor& bf16_copy, const AdamNumbers& numbers) {
  const AdamSettings settings{numbers.beta1,
                              numbers.beta2,
                              numbers.epsilon,
                              numbers.clip_grad_norm,
                              numbers.weight_decay,
                              numbers.learning_rate.data_ptr<double>(),
                              numbers.step.data_ptr<int64_t>(),
                              pointer<double>(numbers.norm)};
  launch(parameters, [&](cudaStream_t stream) {
    adam_step(parameters.data_ptr<float>(), gradients.data_ptr<float>(), first.data_ptr<float>(),
              second.data_ptr<float>(),
              bf16_copy.defined() ? static_cast<uint16_t*>(bf16_copy.data_ptr()) : nullptr,
              parameters.numel(), settings, stream);
  });
}

torch::Tensor gradient_norm(const torch::Tensor& gradients) {
  const torch::Tensor partials = torch::empty({norm_partials()}, float64_like(gradients)),
                      norm = torch::empty({}, float64_like(gradients));
  launch(gradients, [&](cudaStream_t stream) {
    gradient_norm(gradients.data_ptr<float>(), gradients.numel(), partials.data_ptr<double>(),
                  norm.data_ptr<double>(), stream);
  });
  return norm;
}

}  // namespace facet::cuda
