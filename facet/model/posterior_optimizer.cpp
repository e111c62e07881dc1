#include "facet/model/posterior_optimizer.h"

#include "facet/core/torch.h"

namespace facet {

PosteriorOptimizer::PosteriorOptimizer(const FactorPosterior& posterior, AdamOptions options,
                                       Kind kind)
    : options_(options),
      kind_(kind),
      components_(posterior.components.alpha.size(0)),
      dimensions_(posterior.components.alpha.size(1)) {
  options_.weight_decay = 0;  // it is for networks; a logarithm should not be pulled towards 0
  const auto size = 4 * components_ * dimensions_ + components_;
  moments_ = {torch::zeros({size}, posterior.counts.options()),
              torch::zeros({size}, posterior.counts.options())};
  steps_ = torch::zeros({}, posterior.counts.options().dtype(kInt64));
}

FactorParameters PosteriorOptimizer::from_flat(const torch::Tensor& flat) const {
  // Split, for then the gradient is put together at once.
  const int64_t block = components_ * dimensions_;
  const auto parts = flat.split_with_sizes({block, 3 * block + components_});
  const auto positive = torch::exp(parts[1]).split_with_sizes({block, block, block, components_});
  const auto matrix = [&](const torch::Tensor& row) {
    return row.view({components_, dimensions_});
  };
  return {{matrix(parts[0]), matrix(positive[0]), matrix(positive[1]), matrix(positive[2])},
          positive[3]};
}

FactorParameters PosteriorOptimizer::track(const FactorPosterior& posterior) {
  const NormalGamma mean = posterior.mean();
  const torch::Tensor positive =
      torch::cat({mean.s.flatten(), mean.a.flatten(), mean.b.flatten(), posterior.counts});
  flat_ = torch::cat({mean.m.flatten(), torch::log(positive)}).detach().requires_grad_();
  tracked_ = true;
  return from_flat(flat_);
}

void PosteriorOptimizer::step(FactorPosterior& posterior, const torch::Tensor& learning_rate) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor updated = flat_.detach();
  steps_ += 1;
  if (kind_ == Kind::point_mass) {  // log s and log a come after m
    const int64_t block = components_ * dimensions_;
    flat_.mutable_grad().narrow(0, block, 2 * block).zero_();
  }
  adam_update(updated, flat_.grad(), moments_, steps_, learning_rate, options_);
  const FactorParameters parameters = from_flat(updated);
  posterior.assign(FactorPosterior::from_mean(parameters.components, parameters.counts));
  tracked_ = false;
}

void PosteriorOptimizer::restore(int64_t steps, const AdamMoments& moments) {
  steps_.fill_(steps);
  moments_.first.copy_(moments.first);
  moments_.second.copy_(moments.second);
}

}  // namespace facet
