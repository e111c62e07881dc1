#include "facet/cuda/group_norm_ops.h"

#include <optional>

#include <torch/csrc/autograd/custom_function.h>

#include "facet/core/torch.h"
#include "facet/cuda/group_norm.h"
#include "facet/cuda/launch.h"

namespace facet::cuda {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr float norm_epsilon = 1e-5f;  // as LibTorch's

torch::Tensor channels_last(const torch::Tensor& images) {
  return images.contiguous(torch::MemoryFormat::ChannelsLast);
}

const uint16_t* bits(const torch::Tensor& images) {
  return static_cast<const uint16_t*>(images.data_ptr());
}
uint16_t* writable_bits(const torch::Tensor& images) {
  return static_cast<uint16_t*>(images.data_ptr());
}

struct GroupNormSilu : torch::autograd::Function<GroupNormSilu> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& images,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const std::optional<torch::Tensor>& any_modulation, int64_t groups,
                               bool silu) {
    const torch::Tensor x = channels_last(images),
                        modulation = any_modulation ? any_modulation->to(kFloat32).contiguous()
                                                    : torch::Tensor();
    const GroupNormShape shape{x.size(0), x.size(2) * x.size(3), x.size(1),
                               groups,    norm_epsilon,          silu};
    const auto numbers = weight.options().requires_grad(false);
    const torch::Tensor y = torch::empty_like(x),
                        scales = torch::empty({2, shape.images, shape.channels}, numbers),
                        moments = torch::empty({2, shape.images, groups}, numbers);
    launch(x, [&](cudaStream_t stream) {
      const torch::Tensor partials =
          torch::empty({shape.images * shape.parts() * shape.channels * 2}, numbers);
      cuda::group_norm(bits(x), weight.data_ptr<float>(), bias.data_ptr<float>(),
                       pointer<float>(modulation), writable_bits(y), state_of(scales, moments),
                       partials.data_ptr<float>(), shape, stream);
    });
    context->save_for_backward({x, weight, bias, modulation, scales, moments});
    context->saved_data["silu"] = silu;
    context->saved_data["type"] = any_modulation ? any_modulation->scalar_type() : kFloat32;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2], &modulation = saved[3],
                        &scales = saved[4], &moments = saved[5];
    const torch::Tensor gradient = channels_last(gradients[0]);
    const GroupNormShape shape{x.size(0),    x.size(2) * x.size(3),
                               x.size(1),    moments.size(2),
                               norm_epsilon, context->saved_data["silu"].toBool()};
    const torch::Tensor result = torch::empty_like(x),
                        shares = torch::empty({2, shape.images, shape.channels}, scales.options()),
                        of_modulation =
                            modulation.defined() ? torch::empty_like(modulation) : torch::Tensor();
    launch(x, [&](cudaStream_t stream) {
      const torch::Tensor partials =
                              torch::empty({shape.images * shape.parts() * shape.channels * 2},
                                           scales.options()),
                          coefficients =
                              torch::empty({shape.images, shape.groups, 2}, scales.options());
      cuda::group_norm_backward(
          bits(x), bits(gradient), weight.data_ptr<float>(), bias.data_ptr<float>(),
          pointer<float>(modulation), state_of(scales, moments), writable_bits(result),
          shares.data_ptr<float>(), shares[1].data_ptr<float>(), pointer<float>(of_modulation),
          partials.data_ptr<float>(), coefficients.data_ptr<float>(), shape, stream);
    });
    const torch::Tensor sums = shares.sum(1);
    const auto type = context->saved_data["type"].toScalarType();
    return {result,          sums[0],
            sums[1],         of_modulation.defined() ? of_modulation.to(type) : of_modulation,
            torch::Tensor(), torch::Tensor()};
  }

 private:
  static GroupNormState state_of(const torch::Tensor& scales, const torch::Tensor& moments) {
    return {scales.data_ptr<float>(), scales[1].data_ptr<float>(), moments.data_ptr<float>(),
            moments[1].data_ptr<float>()};
  }
};

}  // namespace

bool normalises(int64_t channels, int64_t groups) {
  return channels % 8 == 0 && channels % groups == 0 && channels <= most_norm_channels;
}

torch::Tensor group_norm(const torch::Tensor& images, int64_t groups, const torch::Tensor& weight,
                         const torch::Tensor& bias, const torch::Tensor& modulation, bool silu) {
  const std::optional<torch::Tensor> given =
      modulation.defined() ? std::make_optional(modulation) : std::nullopt;
  return GroupNormSilu::apply(images, weight, bias, given, groups, silu);
}

}  // namespace facet::cuda
