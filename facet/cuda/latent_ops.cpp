#include "facet/cuda/latent_ops.h"

#include <torch/csrc/autograd/custom_function.h>

#include "facet/core/torch.h"
#include "facet/cuda/latent.h"
#include "facet/cuda/launch.h"

namespace facet::cuda {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Where the noise of a draw comes from. The backward pass draws it again rather than keep it.
struct Noise {
  uint64_t key = 0;
  torch::Tensor counter;

  const int64_t* step() const { return pointer<int64_t>(counter); }
  void save(AutogradContext& context) const {
    context.saved_data["key"] = static_cast<int64_t>(key);
    context.saved_data["counter"] = counter;
  }
  static Noise saved(AutogradContext& context) {
    return {static_cast<uint64_t>(context.saved_data["key"].toInt()),
            context.saved_data["counter"].toTensor()};
  }
};

struct EncodingSettings {
  double lowest, highest;
  bool draw;
  Noise noise;

  LatentShape shape(const torch::Tensor& head) const {
    return {head.size(0), head.size(1) / 2, static_cast<float>(lowest), static_cast<float>(highest),
            noise.key,    noise.step()};
  }
};

/// The head to mean, log variance and, with `draw`, z.
struct SplitEncoding : torch::autograd::Function<SplitEncoding> {
  static variable_list forward(AutogradContext* context, const torch::Tensor& any_head,
                               const EncodingSettings& settings) {
    const torch::Tensor head = any_head.contiguous();
    const LatentShape shape = settings.shape(head);
    variable_list outputs;
    for (int i = 0; i < (settings.draw ? 3 : 2); ++i)
      outputs.push_back(torch::empty({shape.images, shape.latents}, head.options()));
    launch(head, [&](cudaStream_t stream) {
      cuda::split_encoding(head.data_ptr<float>(), outputs[0].data_ptr<float>(),
                           outputs[1].data_ptr<float>(),
                           settings.draw ? outputs[2].data_ptr<float>() : nullptr, shape, stream);
    });
    context->set_materialize_grads(false);
    context->save_for_backward({head});
    context->saved_data["lowest"] = settings.lowest;
    context->saved_data["highest"] = settings.highest;
    settings.noise.save(*context);
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor head = context->get_saved_variables()[0];
    const EncodingSettings settings{context->saved_data["lowest"].toDouble(),
                                    context->saved_data["highest"].toDouble(), false,
                                    Noise::saved(*context)};
    const torch::Tensor mean = contiguous(gradients[0]), log_variance = contiguous(gradients[1]),
                        z = gradients.size() > 2 ? contiguous(gradients[2]) : torch::Tensor();
    const torch::Tensor result = torch::empty_like(head);
    launch(head, [&](cudaStream_t stream) {
      split_encoding_gradient(head.data_ptr<float>(), pointer<float>(mean),
                              pointer<float>(log_variance), pointer<float>(z),
                              result.data_ptr<float>(), settings.shape(head), stream);
    });
    return {result, torch::Tensor()};
  }
};

struct SampleLatent : torch::autograd::Function<SampleLatent> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& any_mean,
                               const torch::Tensor& any_log_variance, const Noise& noise) {
    const torch::Tensor mean = any_mean.contiguous(), log_variance = any_log_variance.contiguous();
    const torch::Tensor z = torch::empty_like(mean);
    launch(mean, [&](cudaStream_t stream) {
      cuda::sample_latent(mean.data_ptr<float>(), log_variance.data_ptr<float>(),
                          z.data_ptr<float>(), z.numel(), noise.key, noise.step(), stream);
    });
    context->save_for_backward({log_variance});
    noise.save(*context);
    return z;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor log_variance = context->get_saved_variables()[0];
    const Noise noise = Noise::saved(*context);
    const torch::Tensor gradient = gradients[0].contiguous();
    const torch::Tensor result = torch::empty_like(log_variance);
    launch(gradient, [&](cudaStream_t stream) {
      sample_latent_gradient(log_variance.data_ptr<float>(), gradient.data_ptr<float>(),
                             result.data_ptr<float>(), result.numel(), noise.key, noise.step(),
                             stream);
    });
    return {gradient, result, torch::Tensor()};
  }
};

struct StandardNormalKl : torch::autograd::Function<StandardNormalKl> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& any_mean,
                               const torch::Tensor& any_log_variance) {
    const torch::Tensor mean = any_mean.contiguous(), log_variance = any_log_variance.contiguous();
    const torch::Tensor kl = torch::empty({mean.size(0)}, mean.options());
    launch(mean, [&](cudaStream_t stream) {
      cuda::standard_normal_kl(mean.data_ptr<float>(), log_variance.data_ptr<float>(),
                               kl.data_ptr<float>(), mean.size(0), mean.size(1), stream);
    });
    context->save_for_backward({mean, log_variance});
    return kl;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor mean = saved[0], log_variance = saved[1], gradient = gradients[0];
    const torch::Tensor of_mean = torch::empty_like(mean),
                        of_log_variance = torch::empty_like(mean);
    launch(mean, [&](cudaStream_t stream) {
      standard_normal_kl_gradient(mean.data_ptr<float>(), log_variance.data_ptr<float>(),
                                  gradient.data_ptr<float>(), gradient.stride(0),
                                  of_mean.data_ptr<float>(), of_log_variance.data_ptr<float>(),
                                  mean.size(0), mean.size(1), stream);
    });
    return {of_mean, of_log_variance};
  }
};

}  // namespace

std::pair<torch::Tensor, torch::Tensor> split_encoding(const torch::Tensor& head, double lowest,
                                                       double highest) {
  const variable_list parts =
      SplitEncoding::apply(head, EncodingSettings{lowest, highest, false, {}});
  return {parts[0], parts[1]};
}

LatentDraw draw_encoding(const torch::Tensor& head, double lowest, double highest, uint64_t key,
                         const torch::Tensor& counter) {
  const variable_list parts =
      SplitEncoding::apply(head, EncodingSettings{lowest, highest, true, {key, counter}});
  return {parts[0], parts[1], parts[2]};
}

torch::Tensor sample_latent(const torch::Tensor& mean, const torch::Tensor& log_variance,
                            uint64_t key, const torch::Tensor& counter) {
  return SampleLatent::apply(mean, log_variance, Noise{key, counter});
}

torch::Tensor standard_normal_kl(const torch::Tensor& mean, const torch::Tensor& log_variance) {
  return StandardNormalKl::apply(mean, log_variance);
}

}  // namespace facet::cuda
