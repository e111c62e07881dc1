#include "facet/cuda/predictive_ops.h"

#include "facet/core/torch.h"
#include "facet/cuda/launch.h"
#include "facet/cuda/predictive.h"

namespace facet::cuda {

torch::Tensor predictive_log_density(const torch::Tensor& z,
                                     const std::vector<PredictiveTensors>& factors,
                                     const std::vector<int64_t>& begins) {
  TORCH_CHECK(z.dim() == 2 && z.stride(1) == 1, "rows of z lie in one piece");
  const torch::Tensor density = torch::empty({z.size(0)}, float64_like(z));
  for (size_t i = 0; i < factors.size(); ++i) {
    const torch::Tensor constant = factors[i].constant.contiguous(),
                        centre = factors[i].centre.contiguous(),
                        inverse = factors[i].spread.reciprocal().contiguous(),
                        power = factors[i].power.contiguous();
    const PredictiveMixture mixture = {centre.size(0),
                                       centre.size(1),
                                       constant.data_ptr<double>(),
                                       centre.data_ptr<double>(),
                                       inverse.data_ptr<double>(),
                                       power.data_ptr<double>()};
    launch(z, [&](cudaStream_t stream) {
      predictive_log_density(z.data_ptr<float>() + begins[i], z.size(0), z.stride(0), mixture,
                             i > 0, density.data_ptr<double>(), stream);
    });
  }
  return density;
}

}  // namespace facet::cuda
