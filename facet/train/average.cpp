#include "facet/train/average.h"

#include <cmath>

#include <fmt/format.h>

#include "facet/core/torch.h"

namespace facet {

namespace {

std::string tensor_name(size_t index) { return fmt::format("average.{}", index); }

}  // namespace

WeightAverage::WeightAverage(Adam& adam, FactorialMixture* prior, double decay)
    : adam_(adam), share_(1.0 - std::pow(decay, static_cast<double>(stride))) {
  live_.push_back(adam.parameters());
  for (const FactorPosterior& posterior :
       prior ? prior->posteriors : std::vector<FactorPosterior>())
    for (const auto& [name, tensor] : posterior.tensors()) live_.push_back(tensor);
  for (const torch::Tensor& tensor : live_) means_.push_back(tensor.clone());
}

void WeightAverage::after_step(int64_t step) {
  if (step == 0) start();
  if ((step + 1) % stride == 0) update();
}

void WeightAverage::start() {
  torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < live_.size(); ++i) means_[i].copy_(live_[i]);
}

void WeightAverage::start_prior() {
  torch::NoGradGuard no_gradient;
  for (size_t i = 1; i < live_.size(); ++i) means_[i].copy_(live_[i]);
}

void WeightAverage::update() {
  torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < live_.size(); ++i) means_[i].lerp_(live_[i], share_);
}

void WeightAverage::swap() {
  torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < live_.size(); ++i) {
    const torch::Tensor live = live_[i].clone();
    live_[i].copy_(means_[i]);
    means_[i].copy_(live);
  }
  adam_.refresh_bf16_copies();
}

void WeightAverage::store(TensorFile& file) const {
  file.tensors[tensor_name(0)] = adam_.in_order(means_[0]);
  for (size_t i = 1; i < means_.size(); ++i) file.tensors[tensor_name(i)] = means_[i];
}

void WeightAverage::restore(const TensorFile& file, const std::string& object) {
  torch::NoGradGuard no_gradient;
  const auto stored = [&](size_t i) {
    return file.get(tensor_name(i), means_[i].scalar_type(), means_[i].sizes(), object);
  };
  adam_.from_order(means_[0], stored(0));
  for (size_t i = 1; i < means_.size(); ++i) means_[i].copy_(stored(i));
}

}  // namespace facet
