#include "facet/cuda/ops.h"

#include <algorithm>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "facet/core/torch.h"
#include "facet/cuda/adam.h"
#include "facet/cuda/latent.h"
#include "facet/cuda/likelihood.h"
#include "facet/cuda/prior.h"
#include "facet/cuda/random.h"
#include "facet/cuda/sums.h"

namespace facet::cuda {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Calls `work` with the stream of the GPU where `where` is.
template <typename Work>
void launch(const torch::Tensor& where, const Work& work) {
  const c10::cuda::CUDAGuard device(where.device());
  work(at::cuda::getCurrentCUDAStream().stream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

/// Null for an undefined tensor.
template <typename Scalar>
Scalar* pointer(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<Scalar>() : nullptr;
}

torch::Tensor contiguous(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

torch::TensorOptions doubles(const torch::Tensor& like) {
  return like.options().dtype(kFloat64).requires_grad(false);
}

/// Where the noise of a draw comes from.
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

bool on_card(const torch::Tensor& tensor, torch::ScalarType type) {
  return tensor.defined() && tensor.is_cuda() && tensor.scalar_type() == type;
}

}  // namespace

bool takes(const torch::Tensor& tensor) { return on_card(tensor, kFloat32); }
bool takes_block(const torch::Tensor& tensor) { return on_card(tensor, kFloat64); }
bool takes_pixels(const torch::Tensor& tensor) { return on_card(tensor, kUInt8); }

bool draws(const torch::TensorOptions& options) {
  const auto type = c10::typeMetaToScalarType(options.dtype());
  return options.device().is_cuda() && (type == kFloat32 || type == kFloat64);
}

namespace {

/// `fill` writes a drawn tensor of either float type.
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

namespace {

struct EncodingSettings {
  double lowest, highest;
  bool draw;
  Noise noise;

  LatentShape shape(const torch::Tensor& head) const {
    return {head.size(0), head.size(1) / 2, static_cast<float>(lowest), static_cast<float>(highest),
            noise.key,    noise.step()};
  }
};

/// The head to mean, log variance and, where asked for, z.
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

struct Deviations {
  bool gaussian;
  double smallest, largest;
};

/// [B, C, H, W] in one of the two orders that kernels know.
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
                               const torch::Tensor& any_output, const Deviations& deviations) {
    const torch::Tensor x = dense_images(any_x), output = dense_images(any_output);
    const LikelihoodShape shape{x.size(0), x.size(1), x.size(2) * x.size(3), layout_of(x),
                                layout_of(output)};
    const torch::Tensor density = torch::empty({x.size(0)}, output.options()),
                        derivative = torch::empty_like(output);
    launch(output, [&](cudaStream_t stream) {
      if (deviations.gaussian)
        cuda::gaussian_log_density(x.data_ptr<float>(), output.data_ptr<float>(),
                                   density.data_ptr<float>(), derivative.data_ptr<float>(),
                                   static_cast<float>(deviations.smallest),
                                   static_cast<float>(deviations.largest), shape, stream);
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
  return LogDensity::apply(x, output, Deviations{false, 0, 0});
}

torch::Tensor gaussian_log_density(const torch::Tensor& x, const torch::Tensor& output,
                                   double smallest_stddev, double largest_stddev) {
  return LogDensity::apply(x, output, Deviations{true, smallest_stddev, largest_stddev});
}

namespace {

/// Calls `work` with stretches [begin, end) of at most `most` of `count` things.
template <typename Work>
void in_stretches(size_t count, size_t most, const Work& work) {
  for (size_t begin = 0; begin < count; begin += most) work(begin, std::min(count, begin + most));
}

/// Room of one factor that must live until its kernels are launched.
struct FactorRoom {
  torch::Tensor log_normal, log_weights, tile_sums, coefficients, partials, tickets;
};

/// Derivatives of the terms by mean and log variance, [B, Z] each.
struct TermDerivatives {
  torch::Tensor kl_mean, kl_spread, label_mean, label_spread;
};

void require_posterior(const PriorFactorTensors& factor) {
  for (const torch::Tensor* tensor :
       {&factor.log_alpha, &factor.alpha, &factor.alpha_mu, &factor.alpha_mu2, &factor.counts})
    TORCH_CHECK(tensor->scalar_type() == kFloat64 && tensor->is_contiguous(),
                "a posterior on a GPU is dense float64");
}

/// Pointers of a factor whose block of [B, Z] encodings begins at a column, and room for the
/// E-step.
PriorFactor describe(const torch::Tensor& mean, const torch::Tensor& spread, int64_t begin,
                     const PriorFactorTensors& tensors, FactorRoom& room) {
  require_posterior(tensors);
  const auto options = doubles(mean);
  const int64_t images = mean.size(0);
  PriorFactor factor = {};
  factor.components = tensors.alpha.size(0);
  factor.dimensions = tensors.alpha.size(1);
  const int64_t bytes = begin * mean.element_size();
  factor.mean = static_cast<const char*>(mean.data_ptr()) + bytes;
  factor.spread = static_cast<const char*>(spread.data_ptr()) + bytes;
  factor.row = mean.size(1);
  factor.log_alpha = tensors.log_alpha.data_ptr<double>();
  factor.alpha = tensors.alpha.data_ptr<double>();
  factor.alpha_mu = tensors.alpha_mu.data_ptr<double>();
  factor.alpha_mu2 = tensors.alpha_mu2.data_ptr<double>();
  factor.counts = tensors.counts.data_ptr<double>();
  if (tensors.labels.defined()) {
    factor.labels = tensors.labels.data_ptr<int64_t>();
    factor.labels_stride = tensors.labels.stride(0);
  }
  room.log_normal = torch::empty({images, factor.components}, options);
  room.log_weights = torch::empty({factor.components}, options);
  room.tile_sums = torch::empty({tile_numbers(images, factor.components)}, options);
  factor.log_normal = room.log_normal.data_ptr<double>();
  factor.log_weights = room.log_weights.data_ptr<double>();
  factor.tile_sums = room.tile_sums.data_ptr<double>();
  return factor;
}

/// Where the terms of a factor go, and the room that they need.
PriorTermTensors add_terms_to(PriorFactor& factor, const torch::Tensor& mean, FactorRoom& room) {
  const auto options = doubles(mean);
  const int64_t images = mean.size(0);
  PriorTermTensors terms{torch::empty({images, factor.components}, options),
                         torch::empty({images}, options), torch::empty({images}, options),
                         torch::empty({images}, options)};
  factor.responsibilities = terms.responsibilities.data_ptr<double>();
  factor.kl_z = terms.kl_z.data_ptr<double>();
  factor.kl_r = terms.kl_r.data_ptr<double>();
  factor.label_log_likelihood = terms.label_log_likelihood.data_ptr<double>();
  room.partials =
      torch::empty({partial_numbers(images, factor.components, factor.dimensions)}, options);
  room.tickets = torch::empty({ticket_numbers(images)}, options.dtype(kInt32));
  factor.partials = room.partials.data_ptr<double>();
  factor.tickets = reinterpret_cast<unsigned*>(room.tickets.data_ptr<int32_t>());
  return terms;
}

void add_derivatives_to(PriorFactor& factor, int64_t begin, const TermDerivatives& derivatives,
                        FactorRoom& room) {
  factor.kl_mean = derivatives.kl_mean.data_ptr<float>() + begin;
  factor.kl_spread = derivatives.kl_spread.data_ptr<float>() + begin;
  if (factor.labels) {
    factor.label_mean = derivatives.label_mean.data_ptr<float>() + begin;
    factor.label_spread = derivatives.label_spread.data_ptr<float>() + begin;
  }
  room.coefficients =
      torch::empty({factor.components, 2, factor.dimensions}, room.log_normal.options());
  factor.coefficients = room.coefficients.data_ptr<double>();
}

struct PriorSettings {
  const std::vector<PriorFactorTensors>& factors;
  const std::vector<int64_t>& begins;
};

/// The terms of every factor; with derivatives where those have room.
std::vector<PriorTermTensors> compute_terms(const torch::Tensor& mean,
                                            const torch::Tensor& log_variance,
                                            const PriorSettings& settings,
                                            const TermDerivatives& derivatives) {
  std::vector<PriorTermTensors> terms;
  in_stretches(settings.factors.size(), most_factors, [&](size_t begin, size_t end) {
    PriorBatch batch = {};
    batch.images = mean.size(0);
    std::vector<FactorRoom> rooms(end - begin);
    for (size_t i = begin; i < end; ++i) {
      FactorRoom& room = rooms[i - begin];
      PriorFactor& factor = batch.factor[batch.count++];
      factor = describe(mean, log_variance, settings.begins[i], settings.factors[i], room);
      terms.push_back(add_terms_to(factor, mean, room));
      if (derivatives.kl_mean.defined())
        add_derivatives_to(factor, settings.begins[i], derivatives, room);
    }
    launch(mean, [&](cudaStream_t stream) {
      cuda::prior_terms(batch, Encodings::log_variances, stream);
    });
  });
  return terms;
}

/// kl_z, label's log likelihood, kl_r and responsibilities of every factor, in this order; the
/// last two are not differentiable.
struct PriorTerms : torch::autograd::Function<PriorTerms> {
  static variable_list forward(AutogradContext* context, const torch::Tensor& any_mean,
                               const torch::Tensor& any_log_variance,
                               const PriorSettings& settings) {
    const torch::Tensor mean = any_mean.contiguous(), log_variance = any_log_variance.contiguous();
    TermDerivatives derivatives{torch::empty_like(mean), torch::empty_like(mean), {}, {}};
    std::vector<int64_t> dimensions, labelled;
    for (const PriorFactorTensors& factor : settings.factors) {
      dimensions.push_back(factor.alpha.size(1));
      labelled.push_back(factor.labels.defined() ? 1 : 0);
    }
    if (std::find(labelled.begin(), labelled.end(), 1) != labelled.end()) {
      derivatives.label_mean = torch::empty_like(mean);
      derivatives.label_spread = torch::empty_like(mean);
    }
    variable_list outputs, constant;
    for (const PriorTermTensors& terms : compute_terms(mean, log_variance, settings, derivatives)) {
      for (const torch::Tensor& tensor :
           {terms.kl_z, terms.label_log_likelihood, terms.kl_r, terms.responsibilities})
        outputs.push_back(tensor);
      constant.push_back(terms.kl_r);
      constant.push_back(terms.responsibilities);
    }
    context->mark_non_differentiable(constant);
    context->set_materialize_grads(false);
    context->save_for_backward({derivatives.kl_mean, derivatives.kl_spread, derivatives.label_mean,
                                derivatives.label_spread});
    context->saved_data["begins"] = settings.begins;
    context->saved_data["dimensions"] = dimensions;
    context->saved_data["labelled"] = labelled;
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto begins = context->saved_data["begins"].toIntVector(),
               dimensions = context->saved_data["dimensions"].toIntVector(),
               labelled = context->saved_data["labelled"].toIntVector();
    int64_t columns = 0;
    for (const int64_t dimension : dimensions) columns += dimension;
    // Columns of factors that are not here have no gradient from here.
    const bool all = columns == saved[0].size(1);
    const torch::Tensor mean = all ? torch::empty_like(saved[0]) : torch::zeros_like(saved[0]),
                        spread = all ? torch::empty_like(saved[0]) : torch::zeros_like(saved[0]);
    in_stretches(begins.size(), most_factors, [&](size_t begin, size_t end) {
      PriorBatch batch = {};
      TermGradients term = {};
      batch.images = mean.size(0);
      for (size_t i = begin; i < end; ++i) {
        const int at = batch.count++;
        PriorFactor& factor = batch.factor[at];
        factor.dimensions = dimensions[i];
        factor.row = mean.size(1);
        factor.kl_mean = saved[0].data_ptr<float>() + begins[i];
        factor.kl_spread = saved[1].data_ptr<float>() + begins[i];
        if (labelled[i]) {
          factor.label_mean = saved[2].data_ptr<float>() + begins[i];
          factor.label_spread = saved[3].data_ptr<float>() + begins[i];
        }
        const torch::Tensor &kl_z = gradients[4 * i], &label = gradients[4 * i + 1];
        term.kl_z[at] = pointer<double>(kl_z);
        term.label[at] = pointer<double>(label);
        term.kl_z_stride[at] = kl_z.defined() ? kl_z.stride(0) : 0;
        term.label_stride[at] = label.defined() ? label.stride(0) : 0;
        term.mean[at] = mean.data_ptr<float>() + begins[i];
        term.spread[at] = spread.data_ptr<float>() + begins[i];
      }
      launch(mean, [&](cudaStream_t stream) { prior_terms_gradient(batch, term, stream); });
    });
    return {mean, spread, torch::Tensor()};
  }
};

NaturalStep numbers_of(const NaturalStepNumbers& step) {
  return {step.scale, step.rho.data_ptr<double>(), step.m0, step.s0, step.a0, step.b0, step.c0};
}

}  // namespace

std::vector<PriorTermTensors> prior_terms(const torch::Tensor& mean,
                                          const torch::Tensor& log_variance,
                                          const std::vector<PriorFactorTensors>& factors,
                                          const std::vector<int64_t>& begins) {
  const PriorSettings settings{factors, begins};
  if (!at::GradMode::is_enabled() || !(mean.requires_grad() || log_variance.requires_grad()))
    return compute_terms(mean.contiguous(), log_variance.contiguous(), settings, {});
  const variable_list outputs = PriorTerms::apply(mean, log_variance, settings);
  std::vector<PriorTermTensors> terms;
  for (size_t i = 0; i < factors.size(); ++i)
    terms.push_back({outputs[4 * i + 3], outputs[4 * i], outputs[4 * i + 2], outputs[4 * i + 1]});
  return terms;
}

PriorTermTensors prior_terms(const torch::Tensor& mean, const torch::Tensor& variance,
                             const PriorFactorTensors& tensors) {
  const torch::Tensor dense_mean = mean.contiguous(), dense_variance = variance.contiguous();
  PriorBatch batch = {};
  batch.count = 1;
  batch.images = mean.size(0);
  FactorRoom room;
  batch.factor[0] = describe(dense_mean, dense_variance, 0, tensors, room);
  const PriorTermTensors terms = add_terms_to(batch.factor[0], dense_mean, room);
  launch(dense_mean,
         [&](cudaStream_t stream) { cuda::prior_terms(batch, Encodings::variances, stream); });
  return terms;
}

void natural_gradient_update(const torch::Tensor& any_mean, const torch::Tensor& any_log_variance,
                             const std::vector<PriorFactorTensors>& factors,
                             const std::vector<int64_t>& begins, const NaturalStepNumbers& step) {
  const torch::Tensor mean = any_mean.contiguous(), log_variance = any_log_variance.contiguous();
  in_stretches(factors.size(), most_factors, [&](size_t begin, size_t end) {
    PriorBatch batch = {};
    batch.images = mean.size(0);
    std::vector<FactorRoom> rooms(end - begin);
    for (size_t i = begin; i < end; ++i)
      batch.factor[batch.count++] =
          describe(mean, log_variance, begins[i], factors[i], rooms[i - begin]);
    launch(mean, [&](cudaStream_t stream) {
      prior_update(batch, Encodings::log_variances, numbers_of(step), stream);
    });
  });
}

void natural_gradient_update(const torch::Tensor& mean, const torch::Tensor& variance,
                             const PriorFactorTensors& tensors, const NaturalStepNumbers& step) {
  const torch::Tensor dense_mean = mean.contiguous(), dense_variance = variance.contiguous();
  PriorBatch batch = {};
  batch.count = 1;
  batch.images = mean.size(0);
  FactorRoom room;
  batch.factor[0] = describe(dense_mean, dense_variance, 0, tensors, room);
  launch(dense_mean, [&](cudaStream_t stream) {
    prior_update(batch, Encodings::variances, numbers_of(step), stream);
  });
}

namespace {

Number number_type(const torch::Tensor& tensor) {
  if (tensor.scalar_type() == kFloat32) return Number::float32;
  if (tensor.scalar_type() == kFloat64) return Number::float64;
  TORCH_CHECK(tensor.scalar_type() == kInt64, "numbers to add are float32, float64 or int64");
  return Number::int64;
}

/// One row of numbers; a single number counts as one of length 1.
Term term_of(const torch::Tensor& values) {
  Term term = {};
  term.factor = 1;
  term.summary = Summary::sum;
  if (!values.defined()) return term;
  TORCH_CHECK(values.dim() <= 1 || values.is_contiguous(), "numbers to add are one row");
  term.values = values.data_ptr();
  term.count = values.numel();
  term.stride = values.dim() == 1 ? values.stride(0) : 1;
  term.type = number_type(values);
  return term;
}

struct Weights {
  std::vector<double> factors;
  variable_list weights;

  Term term(size_t index, const torch::Tensor& values) const {
    Term term = term_of(values);
    term.summary = Summary::mean;
    term.factor = factors[index];
    term.weight = pointer<double>(weights[index]);
    return term;
  }
};

struct WeightedSum : torch::autograd::Function<WeightedSum> {
  static torch::Tensor forward(AutogradContext* context, torch::TensorList values,
                               const Weights& weights) {
    const torch::Tensor sum = torch::empty({}, doubles(values[0]));
    in_stretches(values.size(), most_terms, [&](size_t begin, size_t end) {
      Terms terms = {};
      for (size_t i = begin; i < end; ++i) terms.term[terms.count++] = weights.term(i, values[i]);
      launch(sum, [&](cudaStream_t stream) {
        add_terms(sum.data_ptr<double>(), terms, begin == 0, stream);
      });
    });
    variable_list saved = weights.weights;
    saved.insert(saved.end(), values.begin(), values.end());
    context->save_for_backward(saved);
    context->saved_data["factors"] = weights.factors;
    return sum;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto factors = context->saved_data["factors"].toDoubleVector();
    const size_t count = factors.size();
    const Weights weights{factors, {saved.begin(), saved.begin() + static_cast<int64_t>(count)}};
    const torch::Tensor gradient = gradients[0];
    const torch::Tensor derivatives =
                            torch::empty({static_cast<int64_t>(count)}, doubles(gradient)),
                        small = torch::empty_like(derivatives, kFloat32);
    in_stretches(count, most_terms, [&](size_t begin, size_t end) {
      Terms terms = {};
      for (size_t i = begin; i < end; ++i)
        terms.term[terms.count++] = weights.term(i, saved[count + i]);
      launch(gradient, [&](cudaStream_t stream) {
        term_derivatives(gradient.data_ptr<double>(), terms, derivatives.data_ptr<double>() + begin,
                         small.data_ptr<float>() + begin, stream);
      });
    });
    variable_list result;
    for (size_t i = 0; i < count; ++i) {
      const torch::Tensor& values = saved[count + i];
      const torch::Tensor& own = values.scalar_type() == kFloat32 ? small : derivatives;
      result.push_back(own.select(0, static_cast<int64_t>(i)).expand(values.sizes()));
    }
    result.emplace_back();
    return result;
  }
};

}  // namespace

torch::Tensor weighted_sum(const std::vector<WeightedMean>& terms) {
  variable_list values;
  Weights weights;
  for (const WeightedMean& term : terms) {
    values.push_back(term.values);
    weights.factors.push_back(term.factor);
    weights.weights.push_back(term.weight);
  }
  return WeightedSum::apply(torch::TensorList(values), weights);
}

void add_to_sums(const torch::Tensor& sums, const std::vector<SummedTerm>& summed) {
  in_stretches(summed.size(), most_terms, [&](size_t begin, size_t end) {
    Terms terms = {};
    for (size_t i = begin; i < end; ++i) {
      Term& term = terms.term[terms.count++];
      term = term_of(summed[i].values);
      term.at = summed[i].at;
      if (!summed[i].values.defined()) continue;
      using What = SummedTerm::What;
      term.summary = summed[i].what == What::mean  ? Summary::mean
                     : summed[i].what == What::sum ? Summary::sum
                                                   : Summary::known;
    }
    launch(sums,
           [&](cudaStream_t stream) { add_terms(sums.data_ptr<double>(), terms, false, stream); });
  });
}

void adam_step(const torch::Tensor& parameters, const torch::Tensor& gradients,
               const torch::Tensor& first, const torch::Tensor& second, const torch::Tensor& shadow,
               const AdamNumbers& numbers) {
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
              shadow.defined() ? static_cast<uint16_t*>(shadow.data_ptr()) : nullptr,
              parameters.numel(), settings, stream);
  });
}

torch::Tensor gradient_norm(const torch::Tensor& gradients) {
  const torch::Tensor partials = torch::empty({norm_partials()}, doubles(gradients)),
                      norm = torch::empty({}, doubles(gradients));
  launch(gradients, [&](cudaStream_t stream) {
    gradient_norm(gradients.data_ptr<float>(), gradients.numel(), partials.data_ptr<double>(),
                  norm.data_ptr<double>(), stream);
  });
  return norm;
}

}  // namespace facet::cuda
