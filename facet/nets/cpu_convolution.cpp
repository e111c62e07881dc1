#include "facet/nets/cpu_convolution.h"

#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "facet/core/torch.h"
#include "facet/nets/shifted_taps.h"

namespace facet {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

torch::Tensor bias_gradient(const torch::Tensor& gradient) { return gradient.sum({0, 2, 3}); }

/// The gradient of a plain convolution with respect to its images or its weight; of that tensor
/// only the shape is used.
torch::Tensor convolution_gradient(const torch::Tensor& gradient, const torch::Tensor& images,
                                   const torch::Tensor& weight, int64_t stride, int64_t padding,
                                   bool of_images) {
  const auto [input, kernel, unused] = torch::convolution_backward(
      gradient, images, weight, c10::nullopt, {stride, stride}, {padding, padding}, {1, 1},
      /*transposed=*/false, {0, 0}, /*groups=*/1, {of_images, !of_images, false});
  return of_images ? input : kernel;
}

class TransposedConvolution : public torch::autograd::Function<TransposedConvolution> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& images,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               int64_t stride, int64_t padding, int64_t height, int64_t width) {
    const torch::Tensor x = channels_last(images);
    context->save_for_backward({x, weight});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    const torch::Tensor shape = torch::empty({x.size(0), weight.size(1), height, width},
                                             x.options(), torch::MemoryFormat::ChannelsLast);
    return convolution_gradient(x, shape, weight, stride, padding, true)
        .add_(bias.view({1, -1, 1, 1}));
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1];
    const int64_t stride = context->saved_data["stride"].toInt();
    const int64_t padding = context->saved_data["padding"].toInt();
    const torch::Tensor gradient = channels_last(gradients[0]);
    return {torch::conv2d(gradient, weight, {}, stride, padding),
            convolution_gradient(x, gradient, weight, stride, padding, false),
            bias_gradient(gradient),
            {},
            {},
            {},
            {}};
  }
};

class NarrowConvolution : public torch::autograd::Function<NarrowConvolution> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& images,
                               const torch::Tensor& weight, const torch::Tensor& bias) {
    const torch::Tensor x = channels_last(images);
    context->save_for_backward({x, weight});
    const int64_t batch = x.size(0), channels = weight.size(0), kernel = weight.size(2);
    const int64_t height = x.size(2), width = x.size(3);
    const torch::Tensor rows = weight.permute({0, 2, 3, 1}).reshape({-1, x.size(1)});
    const torch::Tensor pixels = x.permute({0, 2, 3, 1}).reshape({-1, x.size(1)});
    const torch::Tensor taps =
        rows.matmul(pixels.t()).view({channels, kernel, kernel, batch, height, width});
    torch::Tensor output =
        bias.view({1, -1, 1, 1}).expand({batch, channels, height, width}).contiguous();
    const TapShape shape{batch, channels, height, width, kernel};
    AT_DISPATCH_FLOATING_TYPES(output.scalar_type(), "narrow_convolution", [&] {
      add_taps(shape, taps.data_ptr<scalar_t>(), output.data_ptr<scalar_t>());
    });
    return output;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1];
    const torch::Tensor gradient = channels_last(gradients[0]);
    const int64_t padding = weight.size(2) / 2;
    // With images and gradient swapped, the result is the weight's gradient with input and output
    // channels swapped and the kernel flipped; the many channels then fill oneDNN's vectors.
    const torch::Tensor swapped =
        convolution_gradient(x, gradient, weight.transpose(0, 1), 1, padding, false);
    return {convolution_gradient(gradient, x, weight, 1, padding, true),
            swapped.flip({2, 3}).transpose(0, 1), bias_gradient(gradient)};
  }
};

}  // namespace

torch::Tensor channels_last(const torch::Tensor& images) {
  const auto sizes = images.sizes();
  return images.permute({0, 2, 3, 1})
      .reshape({-1})
      .view({sizes[0], sizes[2], sizes[3], sizes[1]})
      .permute({0, 3, 1, 2});
}

torch::Tensor transposed_convolution(const torch::Tensor& images, const torch::Tensor& weight,
                                     const torch::Tensor& bias, int64_t stride, int64_t padding,
                                     int64_t height, int64_t width) {
  return TransposedConvolution::apply(images, weight, bias, stride, padding, height, width);
}

torch::Tensor narrow_convolution(const torch::Tensor& images, const torch::Tensor& weight,
                                 const torch::Tensor& bias) {
  return NarrowConvolution::apply(images, weight, bias);
}

}  // namespace facet
