#include "facet/nets/time_features.h"

#include "facet/core/torch.h"

namespace facet {

namespace {

constexpr double fastest_time_frequency = 1000;

}  // namespace

torch::Tensor time_features(const torch::Tensor& times) {
  const torch::Tensor exponents =
      torch::linspace(1.0, 0.0, kTimeFeatures / 2, times.options().dtype(kFloat32));
  const torch::Tensor angles = times.unsqueeze(1) * torch::pow(fastest_time_frequency, exponents);
  return torch::cat({torch::sin(angles), torch::cos(angles)}, 1);
}

}  // namespace facet
