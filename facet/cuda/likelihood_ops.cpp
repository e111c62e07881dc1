#include "facet/cuda/likelihood_ops.h"

#include <algorithm>

#include <torch/csrc/autograd/custom_function.h>

#include "facet/core/torch.h"
#include "facet/cuda/launch.h"
#include "facet/cuda/likelihood.h"

namespace facet::cuda {

torch::Tensor from_pixels(const torch::Tensor& pixels, double scale, double shift) {
  const torch::Tensor dense = pixels.contiguous();
  const torch::Tensor x = torch::empty(dense.sizes(), dense.options().dtype(kFloat32));
  launch(x, [&](cudaStream_t stream) {
    cuda::from_pixels(dense.data_ptr<uint8_t>(), x.data_ptr<float>(), x.numel(),
                      static_cast<float>(scale), static_cast<float>(shift), stream);
  });
  return x;
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Which density; the bounds are a Gaussian's.
struct Density {
  bool gaussian;
  double smallest_stddev, largest_stddev;
};

/// [B, C, H, W] in one of the two orders of memory that the kernels read.
torch::Tensor dense_images(const torch::Tensor& images) {
  const bool dense =
      images.is_contiguous() || images.is_contiguous(torch::MemoryFormat::ChannelsLast);
  return dense ? images : images.contiguous();
}

ImageLayout layout_of(const torch::Tensor& images) {
  const int64_t channels = images.size(1), pixels = images.size(2) * images.size(3);
  return images.is_contiguous() ? ImageLayout{channels * pixels, pixels, 1}
                                : ImageLayout{channels * pixels, 1, channels};
}

struct LogDensity : torch::autograd::Function<LogDensity> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& any_x,
                               const torch::Tensor& any_output, const Density& kind) {
    const torch::Tensor x = dense_images(any_x), output = dense_images(any_output);
    const LikelihoodShape shape{x.size(0), x.size(1), x.size(2) * x.size(3), layout_of(x),
                                layout_of(output)};
    const torch::Tensor density = torch::empty({x.size(0)}, output.options()),
                        derivative = torch::empty_like(output);
    launch(output, [&](cudaStream_t stream) {
      if (kind.gaussian)
        cuda::gaussian_log_density(x.data_ptr<float>(), output.data_ptr<float>(),
                                   density.data_ptr<float>(), derivative.data_ptr<float>(),
                                   static_cast<float>(kind.smallest_stddev),
                                   static_cast<float>(kind.largest_stddev), shape, stream);
      else
        cuda::bernoulli_log_density(x.data_ptr<float>(), output.data_ptr<float>(),
                                    density.data_ptr<float>(), derivative.data_ptr<float>(), shape,
                                    stream);
    });
    context->save_for_backward({derivative});
    return density;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor derivative = context->get_saved_variables()[0], gradient = gradients[0];
    const torch::Tensor result = torch::empty_like(derivative);
    const int64_t images = derivative.size(0);
    launch(derivative, [&](cudaStream_t stream) {
      scale_images(derivative.data_ptr<float>(), gradient.data_ptr<float>(), gradient.stride(0),
                   result.data_ptr<float>(), images,
                   derivative.numel() / std::max<int64_t>(1, images), stream);
    });
    return {torch::Tensor(), result, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor bernoulli_log_density(const torch::Tensor& x, const torch::Tensor& output) {
  return LogDensity::apply(x, output, Density{false, 0, 0});
}

torch::Tensor gaussian_log_density(const torch::Tensor& x, const torch::Tensor& output,
                                   double smallest_stddev, double largest_stddev) {
  return LogDensity::apply(x, output, Density{true, smallest_stddev, largest_stddev});
}

}  // namespace facet::cuda
