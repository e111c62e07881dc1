#include "facet/prior/halves.h"

#include "facet/core/torch.h"

namespace facet {

namespace {

constexpr int power_iterations = 5;
constexpr int local_updates = 4;
/// Images per component that halves are searched with.
constexpr int64_t search_images = 40;

/// The components to halve, and the responsibilities that their halves share.
class Parents {
 public:
  Parents(const FactorPosterior& posterior, const std::vector<int64_t>& list)
      : posterior_(posterior),
        index_(torch::tensor(list, kInt64).to(posterior.counts.device())),
        mean_(of(posterior.mean())) {}

  const NormalGamma& mean() const { return mean_; }
  const torch::Tensor& index() const { return index_; }
  torch::Tensor counts() const { return posterior_.counts.index_select(0, index_); }
  torch::Tensor worth(MoveGoal goal, const FactorHyperprior& hyperprior) const {
    return component_worth(goal, posterior_.components, hyperprior).index_select(0, index_);
  }
  /// Calls `work(block, gamma)` with the data in slices; gamma is [n, H].
  template <typename Work>
  void for_responsibilities(const FactorData& data, const Work& work) const {
    for_slices(data, posterior_.counts.size(0), [&](const FactorData& part) {
      work(part.block, e_step(part.block, posterior_, part.labels).index_select(1, index_));
    });
  }

 private:
  NormalGamma of(const NormalGamma& all) const {
    const auto rows = [&](const torch::Tensor& t) { return t.index_select(0, index_); };
    return {rows(all.m), rows(all.s), rows(all.a), rows(all.b)};
  }

  const FactorPosterior& posterior_;
  torch::Tensor index_;
  NormalGamma mean_;
};

/// For every parent, the direction in which its images vary most in units of its standard
/// deviation, as a step in z of one standard deviation along it, [H, D]: power iteration.
torch::Tensor widest_directions(const Key& key, const Parents& parents, const FactorData& data) {
  const NormalGamma& mean = parents.mean();
  const torch::Tensor precision = (mean.a / mean.b).sqrt();
  const auto unit = [](const torch::Tensor& v) {
    return v / v.norm(2, 1, /*keepdim=*/true).clamp_min(1e-300);
  };
  torch::Tensor direction = unit(standard_normal(key, mean.m.sizes(), mean.m.options()));
  torch::Tensor spread;
  for (int i = 0; i < power_iterations; ++i) {
    const torch::Tensor scaled = precision * direction;
    const torch::Tensor offset = (scaled * mean.m).sum(1);  // [H]
    torch::Tensor next = torch::zeros_like(direction);
    torch::Tensor squares = torch::zeros_like(offset), counts = torch::zeros_like(offset);
    parents.for_responsibilities(data, [&](const BlockEncoding& block, const torch::Tensor& gamma) {
      const torch::Tensor along = block.mean.matmul(scaled.t()) - offset;  // [n, H]
      const torch::Tensor weighted = gamma * along;
      next += weighted.t().matmul(block.mean) - weighted.sum(0).unsqueeze(1) * mean.m;
      squares += (weighted * along).sum(0);
      counts += gamma.sum(0);
    });
    spread = (squares / counts.clamp_min(1e-12)).sqrt();
    direction = unit(precision * next);
  }
  return spread.unsqueeze(1) * direction / precision;
}

/// One update of the halves, with the responsibilities of their parents fixed, and what the goal
/// gains by them, [H].
torch::Tensor update(MoveGoal goal, FactorPosterior& first, FactorPosterior& second,
                     const Parents& parents, const FactorData& data,
                     const FactorHyperprior& hyperprior) {
  const NormalGamma one = first.mean(), other = second.mean();
  const torch::Tensor weights = torch::digamma(first.counts) - torch::digamma(second.counts);
  const auto zero_sums = [&] {
    return FactorStatistics{torch::zeros_like(weights), torch::zeros_like(one.m),
                            torch::zeros_like(one.m)};
  };
  FactorStatistics first_sums = zero_sums(), second_sums = zero_sums();
  torch::Tensor entropy = torch::zeros_like(weights);
  parents.for_responsibilities(data, [&](const BlockEncoding& block, const torch::Tensor& gamma) {
    const torch::Tensor share = torch::sigmoid(expected_log_normal(block, one) -
                                               expected_log_normal(block, other) + weights);
    const torch::Tensor rest = 1.0 - share;
    entropy -= (gamma * (torch::xlogy(share, share) + torch::xlogy(rest, rest))).sum(0);
    const auto add = [&](FactorStatistics& sums, const torch::Tensor& responsibilities) {
      const FactorStatistics own = statistics(block, responsibilities);
      sums.counts += own.counts;
      sums.first += own.first;
      sums.second += own.second;
    };
    add(first_sums, gamma * share);
    add(second_sums, gamma * rest);
  });
  first = conjugate_posterior(first_sums, data.scale, hyperprior);
  second = conjugate_posterior(second_sums, data.scale, hyperprior);
  return component_worth(goal, first.components, hyperprior) +
         component_worth(goal, second.components, hyperprior) - parents.worth(goal, hyperprior) +
         data.scale * entropy;
}

FactorPosterior rows_of(const FactorPosterior& posterior, const torch::Tensor& index) {
  const auto rows = [&](const torch::Tensor& t) { return t.index_select(0, index); };
  const NaturalNormalGamma& all = posterior.components;
  return {{rows(all.log_alpha), rows(all.alpha), rows(all.alpha_mu), rows(all.alpha_mu2)},
          rows(posterior.counts),
          posterior.concentration};
}

}  // namespace

Halves best_halves(MoveGoal goal, const Key& key, const FactorPosterior& posterior,
                   const std::vector<int64_t>& list, const FactorData& data,
                   const FactorHyperprior& hyperprior) {
  const Parents all(posterior, list);
  const FactorData some = data.random_part(search_images * posterior.counts.size(0));
  const torch::Tensor step = widest_directions(key, all, some);
  const auto& [m, s, a, b] = all.mean();
  FactorPosterior first = FactorPosterior::from_mean({m + step, s, a, b}, all.counts());
  FactorPosterior second = FactorPosterior::from_mean({m - step, s, a, b}, all.counts());
  torch::Tensor gain;
  for (int i = 0; i < local_updates; ++i) gain = update(goal, first, second, all, some, hyperprior);

  const torch::Tensor promising = gain.gt(0.0).nonzero().squeeze(1);
  Halves halves{to_integers(all.index().index_select(0, promising)), rows_of(first, promising),
                rows_of(second, promising), gain.index_select(0, promising)};
  if (!halves.parents.empty())
    halves.gain = update(goal, halves.first, halves.second, Parents(posterior, halves.parents),
                         data, hyperprior);
  return halves;
}

}  // namespace facet
