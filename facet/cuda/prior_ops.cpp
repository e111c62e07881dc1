#include "facet/cuda/prior_ops.h"

#include <algorithm>

#include <torch/csrc/autograd/custom_function.h>

#include "facet/core/torch.h"
#include "facet/cuda/launch.h"
#include "facet/cuda/prior.h"

namespace facet::cuda {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Scratch memory of one factor, which must live until its kernels are launched.
struct FactorScratch {
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
  for (const torch::Tensor* tensor : {&factor.m0, &factor.s0, &factor.a0, &factor.b0})
    TORCH_CHECK(!tensor->defined() || (tensor->is_cuda() && tensor->is_contiguous() &&
                                       tensor->size(0) == factor.alpha.size(1)),
                "a hyperprior on a GPU has one number per dimension");
}

/// A factor as the kernels see it, with scratch memory for the E-step. Its block of the encodings
/// [B, Z] begins at column `begin`.
PriorFactor kernel_factor(const torch::Tensor& mean, const torch::Tensor& spread, int64_t begin,
                          const PriorFactorTensors& tensors, FactorScratch& scratch) {
  require_posterior(tensors);
  const auto options = float64_like(mean);
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
  factor.expected_log_weights = pointer<double>(tensors.expected_log_weights);
  factor.m0 = pointer<double>(tensors.m0);
  factor.s0 = pointer<double>(tensors.s0);
  factor.a0 = pointer<double>(tensors.a0);
  factor.b0 = pointer<double>(tensors.b0);
  factor.c0 = pointer<double>(tensors.c0);
  if (tensors.labels.defined()) {
    factor.labels = tensors.labels.data_ptr<int64_t>();
    factor.labels_stride = tensors.labels.stride(0);
  }
  scratch.log_normal = torch::empty({images, factor.components}, options);
  scratch.log_weights = torch::empty({factor.components}, options);
  scratch.tile_sums = torch::empty({tile_numbers(images, factor.components)}, options);
  factor.log_normal = scratch.log_normal.data_ptr<double>();
  factor.log_weights = scratch.log_weights.data_ptr<double>();
  factor.tile_sums = scratch.tile_sums.data_ptr<double>();
  return factor;
}

/// Makes the tensors that a factor's terms go to, and the scratch memory that they need.
PriorTermTensors add_terms_to(PriorFactor& factor, const torch::Tensor& mean,
                              FactorScratch& scratch) {
  const auto options = float64_like(mean);
  const int64_t images = mean.size(0);
  PriorTermTensors terms{torch::empty({images, factor.components}, options),
                         torch::empty({images}, options), torch::empty({images}, options),
                         torch::empty({images}, options)};
  factor.responsibilities = terms.responsibilities.data_ptr<double>();
  factor.kl_z = terms.kl_z.data_ptr<double>();
  factor.kl_r = terms.kl_r.data_ptr<double>();
  factor.label_log_likelihood = terms.label_log_likelihood.data_ptr<double>();
  scratch.partials =
      torch::empty({partial_numbers(images, factor.components, factor.dimensions)}, options);
  scratch.tickets = torch::empty({ticket_numbers(images)}, options.dtype(kInt32));
  factor.partials = scratch.partials.data_ptr<double>();
  factor.tickets = reinterpret_cast<unsigned*>(scratch.tickets.data_ptr<int32_t>());
  return terms;
}

void add_derivatives_to(PriorFactor& factor, int64_t begin, const TermDerivatives& derivatives,
                        FactorScratch& scratch) {
  factor.kl_mean = derivatives.kl_mean.data_ptr<float>() + begin;
  factor.kl_spread = derivatives.kl_spread.data_ptr<float>() + begin;
  if (factor.labels) {
    factor.label_mean = derivatives.label_mean.data_ptr<float>() + begin;
    factor.label_spread = derivatives.label_spread.data_ptr<float>() + begin;
  }
  scratch.coefficients =
      torch::empty({factor.components, 2, factor.dimensions}, scratch.log_normal.options());
  factor.coefficients = scratch.coefficients.data_ptr<double>();
}

struct PriorSettings {
  const std::vector<PriorFactorTensors>& factors;
  const std::vector<int64_t>& begins;
};

/// The terms of every factor; with their derivatives where the tensors for those are defined.
std::vector<PriorTermTensors> compute_terms(const torch::Tensor& mean,
                                            const torch::Tensor& log_variance,
                                            const PriorSettings& settings,
                                            const TermDerivatives& derivatives) {
  std::vector<PriorTermTensors> terms;
  in_ranges(settings.factors.size(), most_factors, [&](size_t begin, size_t end) {
    PriorBatch batch = {};
    batch.images = mean.size(0);
    std::vector<FactorScratch> scratches(end - begin);
    for (size_t i = begin; i < end; ++i) {
      FactorScratch& scratch = scratches[i - begin];
      PriorFactor& factor = batch.factor[batch.count++];
      factor = kernel_factor(mean, log_variance, settings.begins[i], settings.factors[i], scratch);
      terms.push_back(add_terms_to(factor, mean, scratch));
      if (derivatives.kl_mean.defined())
        add_derivatives_to(factor, settings.begins[i], derivatives, scratch);
    }
    launch(mean, [&](cudaStream_t stream) {
      cuda::prior_terms(batch, Encodings::log_variances, stream);
    });
  });
  return terms;
}

/// Gives kl_z, the label's log likelihood, kl_r and responsibilities of every factor, in this
/// order; the last two are not differentiable.
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
    // Columns of no factor get a gradient of zero.
    const bool all = columns == saved[0].size(1);
    const torch::Tensor mean = all ? torch::empty_like(saved[0]) : torch::zeros_like(saved[0]),
                        spread = all ? torch::empty_like(saved[0]) : torch::zeros_like(saved[0]);
    in_ranges(begins.size(), most_factors, [&](size_t begin, size_t end) {
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
  return {step.scale, step.rho.data_ptr<double>()};
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
  FactorScratch scratch;
  batch.factor[0] = kernel_factor(dense_mean, dense_variance, 0, tensors, scratch);
  const PriorTermTensors terms = add_terms_to(batch.factor[0], dense_mean, scratch);
  launch(dense_mean,
         [&](cudaStream_t stream) { cuda::prior_terms(batch, Encodings::variances, stream); });
  return terms;
}

void natural_gradient_update(const torch::Tensor& any_mean, const torch::Tensor& any_log_variance,
                             const std::vector<PriorFactorTensors>& factors,
                             const std::vector<int64_t>& begins, const NaturalStepNumbers& step) {
  const torch::Tensor mean = any_mean.contiguous(), log_variance = any_log_variance.contiguous();
  in_ranges(factors.size(), most_factors, [&](size_t begin, size_t end) {
    PriorBatch batch = {};
    batch.images = mean.size(0);
    std::vector<FactorScratch> scratches(end - begin);
    for (size_t i = begin; i < end; ++i)
      batch.factor[batch.count++] =
          kernel_factor(mean, log_variance, begins[i], factors[i], scratches[i - begin]);
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
  FactorScratch scratch;
  batch.factor[0] = kernel_factor(dense_mean, dense_variance, 0, tensors, scratch);
  launch(dense_mean, [&](cudaStream_t stream) {
    prior_update(batch, Encodings::variances, numbers_of(step), stream);
  });
}

}  // namespace facet::cuda
