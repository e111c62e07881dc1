#include "facet/nets/adam.h"

#include <algorithm>

#include "facet/core/torch.h"
#include "facet/ops/adam.h"

namespace facet {

namespace {

/// Every parameter starts on a 64-byte boundary, for vector instructions.
constexpr int64_t alignment = 16;

int64_t aligned(int64_t count) { return (count + alignment - 1) / alignment * alignment; }

ops::AdamNumbers numbers_of(const AdamOptions& options, const torch::Tensor& learning_rate,
                            const torch::Tensor& step, const torch::Tensor& norm) {
  const auto& [beta1, beta2, epsilon, clip_grad_norm, weight_decay] = options;
  return {beta1, beta2, epsilon, clip_grad_norm, weight_decay, learning_rate, step, norm};
}

}  // namespace

void AdamOptions::visit(OptionVisitor& visitor) {
  visitor.option("beta1", beta1, "Decay of the gradient's running mean.", between(0, 0.9999));
  visitor.option("beta2", beta2, "Decay of the squared gradient's running mean.",
                 between(0, 0.999999));
  visitor.option("epsilon", epsilon, "Added to the denominator, so that steps stay finite.",
                 at_least(1e-30));
  visitor.renamed("largest_gradient_norm", "clip_grad_norm");
  visitor.option("clip_grad_norm", clip_grad_norm,
                 "Gradients with a larger norm are scaled down to this norm; 0 never clips.",
                 at_least(0));
  visitor.option("weight_decay", weight_decay,
                 "Every step shrinks the networks' weights by this times the learning rate.",
                 at_least(0));
}

void adam_update(const torch::Tensor& parameters, const torch::Tensor& gradients,
                 const AdamMoments& moments, const torch::Tensor& step,
                 const torch::Tensor& learning_rate, const AdamOptions& options) {
  AdamOptions unclipped = options;
  unclipped.clip_grad_norm = 0;
  ops::adam_step(parameters, gradients, moments.first, moments.second, {},
                 numbers_of(unclipped, learning_rate, step, {}));
}

torch::Tensor Adam::ParameterSlice::view(const torch::Tensor& flat) const {
  int64_t count = 1;
  for (const int64_t side : shape) count *= side;
  const torch::Tensor slice = flat.narrow(0, offset, count);
  if (!channels_last) return slice.view(shape);
  return slice.view({shape[0], shape[2], shape[3], shape[1]}).permute({0, 3, 1, 2});
}

Adam::Adam(const NamedTensors& parameters, const AdamOptions& options) : options_(options) {
  torch::NoGradGuard no_gradient;
  int64_t total = 0;
  for (const auto& [name, parameter] : parameters) {
    slices_.push_back(
        {total, parameter.sizes().vec(), parameter.is_cuda() && parameter.dim() == 4});
    total += aligned(parameter.numel());
  }
  parameters_ = torch::zeros({total}, parameters.front().second.options().requires_grad(false));
  gradients_ = torch::zeros_like(parameters_);
  moments_ = {torch::zeros_like(parameters_), torch::zeros_like(parameters_)};
  steps_ = torch::zeros({}, parameters_.options().dtype(kInt64));
  for (size_t i = 0; i < parameters.size(); ++i) {
    torch::Tensor parameter = parameters[i].second;
    slices_[i].view(parameters_).copy_(parameter);
    parameter.set_data(slices_[i].view(parameters_));
    parameter.mutable_grad() = slices_[i].view(gradients_);
  }
}

torch::Tensor Adam::bf16_copy_of(const torch::Tensor& parameter) {
  if (!bf16_copies_.defined()) bf16_copies_ = parameters_.to(torch::kBFloat16);
  return bf16_copies_.narrow(0, parameter.data_ptr<float>() - parameters_.data_ptr<float>(),
                             parameter.numel());
}

torch::Tensor Adam::gradient_norm() const { return ops::gradient_norm(gradients_); }

Adam::Range Adam::range_of(const NamedTensors& part) const {
  Range range{parameters_.numel(), 0};
  for (const auto& [name, parameter] : part) {
    const int64_t begin = parameter.data_ptr<float>() - parameters_.data_ptr<float>();
    range.begin = std::min(range.begin, begin);
    range.end = std::max(range.end, begin + aligned(parameter.numel()));
  }
  return range;
}

void Adam::update(const Range& range, const torch::Tensor& learning_rate, const torch::Tensor& norm,
                  bool decay) {
  torch::NoGradGuard no_gradient;
  AdamOptions options = options_;
  if (!decay) options.weight_decay = 0;
  const auto part = [&](const torch::Tensor& flat) {
    return flat.defined() ? flat.narrow(0, range.begin, range.end - range.begin) : flat;
  };
  ops::adam_step(part(parameters_), part(gradients_), part(moments_.first), part(moments_.second),
                 part(bf16_copies_), numbers_of(options, learning_rate, steps_, norm));
}

torch::Tensor Adam::in_order(const torch::Tensor& flat) const {
  torch::NoGradGuard no_gradient;
  torch::Tensor ordered = torch::zeros_like(flat);
  for (const ParameterSlice& slice : slices_)
    ParameterSlice{slice.offset, slice.shape, false}.view(ordered).copy_(slice.view(flat));
  return ordered;
}

void Adam::from_order(const torch::Tensor& flat, const torch::Tensor& ordered) const {
  torch::NoGradGuard no_gradient;
  for (const ParameterSlice& slice : slices_)
    slice.view(flat).copy_(ParameterSlice{slice.offset, slice.shape, false}.view(ordered));
}

void Adam::refresh_bf16_copies() {
  if (bf16_copies_.defined()) bf16_copies_.copy_(parameters_);
}

void Adam::reset() {
  steps_.zero_();
  moments_.first.zero_();
  moments_.second.zero_();
  refresh_bf16_copies();
}

void Adam::restore(int64_t steps, const AdamMoments& moments) {
  steps_.fill_(steps);
  from_order(moments_.first, moments.first);
  from_order(moments_.second, moments.second);
  refresh_bf16_copies();
}

}  // namespace facet
