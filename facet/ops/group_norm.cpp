#include "facet/ops/group_norm.h"

#include "facet/core/torch.h"
#include "facet/cuda/group_norm_ops.h"
#include "facet/ops/dispatch.h"

namespace facet::ops {

torch::Tensor group_norm(const torch::Tensor& images, const GroupNorm& norm,
                         const torch::Tensor& modulation) {
  if (kernel_computes(images, torch::kBFloat16) && cuda::normalises(images.size(1), norm.groups))
    return cuda::group_norm(images, norm.groups, norm.weight, norm.bias, modulation, norm.silu);
  const auto type = images.scalar_type();
  torch::Tensor result =
      torch::group_norm(images, norm.groups, norm.weight.to(type), norm.bias.to(type));
  if (modulation.defined()) {
    const auto parts = modulation.to(type).unsqueeze(2).unsqueeze(3).chunk(2, 1);
    result = torch::addcmul(parts[1], result, 1 + parts[0]);
  }
  return norm.silu ? torch::silu(result) : result;
}

}  // namespace facet::ops
