#include "facet/cuda/random_ops.h"

#include "facet/core/torch.h"
#include "facet/cuda/launch.h"
#include "facet/cuda/random.h"

namespace facet::cuda {

namespace {

/// `fill` writes a tensor of either float type.
template <class Fill>
torch::Tensor drawn(torch::IntArrayRef shape, const torch::TensorOptions& options, Fill fill) {
  const torch::Tensor out = torch::empty(shape, options.requires_grad(false));
  launch(out, [&](cudaStream_t stream) {
    if (out.scalar_type() == kFloat64)
      fill(out.data_ptr<double>(), out.numel(), stream);
    else
      fill(out.data_ptr<float>(), out.numel(), stream);
  });
  return out;
}

}  // namespace

torch::Tensor standard_normal(uint64_t key, const torch::Tensor& counter, torch::IntArrayRef shape,
                              const torch::TensorOptions& options) {
  return drawn(shape, options, [&](auto* out, int64_t count, cudaStream_t stream) {
    fill_normal(out, count, key, pointer<int64_t>(counter), stream);
  });
}

torch::Tensor uniform(uint64_t key, const torch::Tensor& counter, torch::IntArrayRef shape,
                      const torch::TensorOptions& options) {
  return drawn(shape, options, [&](auto* out, int64_t count, cudaStream_t stream) {
    fill_uniform(out, count, key, pointer<int64_t>(counter), stream);
  });
}

}  // namespace facet::cuda
