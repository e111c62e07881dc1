#include "facet/ops/sums.h"

#include "facet/core/torch.h"
#include "facet/ops/dispatch.h"

namespace facet::ops {

namespace {

torch::Tensor sum_of(const std::vector<torch::Tensor>& tensors) {
  torch::Tensor sum = tensors.front();
  for (size_t i = 1; i < tensors.size(); ++i) sum = sum + tensors[i];
  return sum;
}

torch::Tensor kernel_negative_elbo(const torch::Tensor& reconstruction,
                                   const std::vector<torch::Tensor>& kl_z,
                                   const std::vector<torch::Tensor>& kl_r,
                                   const torch::Tensor& kl_weight) {
  std::vector<cuda::WeightedMean> means = {{reconstruction, -1.0, {}}};
  for (size_t i = 0; i < kl_z.size(); ++i) {
    means.push_back({kl_z[i], 1.0, kl_weight});
    if (!kl_r.empty()) means.push_back({kl_r[i], 1.0, {}});
  }
  return cuda::weighted_sum(means);
}

}  // namespace

torch::Tensor negative_elbo(const torch::Tensor& reconstruction,
                            const std::vector<torch::Tensor>& kl_z,
                            const std::vector<torch::Tensor>& kl_r,
                            const torch::Tensor& kl_weight) {
  if (kernel_computes(reconstruction, kFloat32))
    return kernel_negative_elbo(reconstruction, kl_z, kl_r, kl_weight);
  const torch::Tensor without_kl_r = reconstruction.mean() - kl_weight * sum_of(kl_z).mean();
  return -(kl_r.empty() ? without_kl_r : without_kl_r - sum_of(kl_r).mean());
}

void add_to_sums(const torch::Tensor& sums, const std::vector<SummedTerm>& terms) {
  if (kernel_computes(sums, kFloat64)) return cuda::add_to_sums(sums, terms);
  using What = SummedTerm::What;
  for (const SummedTerm& term : terms) {
    torch::Tensor sum = sums[term.at];
    if (!term.values.defined())
      sum += 1;
    else if (term.what == What::mean)
      sum += term.values.mean();
    else
      sum += (term.what == What::sum ? term.values : term.values.ge(0)).sum();
  }
}

}  // namespace facet::ops
