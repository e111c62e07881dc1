#include "facet/prior/moves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "facet/core/torch.h"
#include "facet/prior/evidence.h"
#include "facet/prior/halves.h"

namespace facet {

namespace {

/// Nats that a move has to gain over all images: less is within the error of the sums.
constexpr double least_gain = 0.1;
/// A component with fewer images is empty: a split may use it.
constexpr double fewest_images = 1.0;
/// More than the weights gain from a merge of two components of any data set.
constexpr double most_weights_gain = 1e3;

/// The pseudo-counts as a list, for weighing moves one after another.
class Weights {
 public:
  Weights(MoveGoal goal, const FactorPosterior& posterior, const FactorHyperprior& hyperprior)
      : goal_(goal),
        hyperprior_(hyperprior.to(torch::kCPU)),
        counts_(to_doubles(posterior.counts)),
        empty_(hyperprior.count.item<double>()),
        worth_(weights_worth(goal, counts_, hyperprior_)) {}

  double empty() const { return empty_; }
  double images(int64_t component) const { return at(component) - empty_; }
  /// What the goal gains if two components get these pseudo-counts.
  double gain(int64_t one, double one_count, int64_t other, double other_count) const {
    return changed(one, one_count, other, other_count).worth_ - worth_;
  }
  void change(int64_t one, double one_count, int64_t other, double other_count) {
    *this = changed(one, one_count, other, other_count);
  }

 private:
  double at(int64_t component) const { return counts_[static_cast<size_t>(component)]; }
  Weights changed(int64_t one, double one_count, int64_t other, double other_count) const {
    Weights result = *this;
    result.counts_[static_cast<size_t>(one)] = one_count;
    result.counts_[static_cast<size_t>(other)] = other_count;
    result.worth_ = weights_worth(goal_, result.counts_, hyperprior_);
    return result;
  }

  MoveGoal goal_;
  FactorHyperprior hyperprior_;
  std::vector<double> counts_;
  double empty_, worth_;
};

/// A possible move of two components, and its gain without that of the weights.
struct Candidate {
  int64_t one, other;
  double gain;
};

void set_row(FactorPosterior& posterior, int64_t to, const FactorPosterior& source, int64_t from) {
  const NamedTensors target = posterior.tensors(), origin = source.tensors();
  for (size_t i = 0; i < target.size(); ++i) target[i].second[to].copy_(origin[i].second[from]);
}

/// The best partner of every living component, by the worth of components alone.
std::vector<Candidate> merge_candidates(MoveGoal goal, const FactorPosterior& posterior,
                                        const Weights& weights,
                                        const FactorHyperprior& hyperprior) {
  std::vector<int64_t> living;
  for (int64_t k = 0; k < posterior.counts.size(0); ++k)
    if (weights.images(k) >= fewest_images) living.push_back(k);
  const auto components = static_cast<int64_t>(living.size());
  if (components < 2) return {};
  const torch::Tensor index = torch::tensor(living, kInt64).to(posterior.counts.device());
  const auto rows_of = [&](const torch::Tensor& numbers) { return numbers.index_select(0, index); };
  const NaturalNormalGamma& given = posterior.components;
  const NaturalNormalGamma all = {rows_of(given.log_alpha), rows_of(given.alpha),
                                  rows_of(given.alpha_mu), rows_of(given.alpha_mu2)},
                           base = empty_component(posterior, hyperprior).components;
  const torch::Tensor own = component_worth(goal, all, hyperprior);
  std::vector<Candidate> candidates;
  const int64_t rows = std::max<int64_t>(1, (int64_t{1} << 22) / (components * all.alpha.size(1)));
  for (int64_t begin = 0; begin < components; begin += rows) {
    const int64_t count = std::min(rows, components - begin);
    // Natural parameters of a row with every other, [rows, living, D]; the hyperprior counts once.
    const auto sum = [&](const torch::Tensor& numbers, const torch::Tensor& of_hyperprior) {
      return numbers.narrow(0, begin, count).unsqueeze(1) + (numbers - of_hyperprior);
    };
    torch::Tensor gain =
        component_worth(goal,
                        {sum(all.log_alpha, base.log_alpha), sum(all.alpha, base.alpha),
                         sum(all.alpha_mu, base.alpha_mu), sum(all.alpha_mu2, base.alpha_mu2)},
                        hyperprior) -
        own.narrow(0, begin, count).unsqueeze(1) - own;
    gain.narrow(1, begin, count).diagonal().fill_(-std::numeric_limits<double>::infinity());
    const auto [best, partner] = gain.max(1);
    const std::vector<double> gains = to_doubles(best), partners = to_doubles(partner);
    for (size_t i = 0; i < gains.size(); ++i)
      if (std::isfinite(gains[i]))
        candidates.push_back({living[static_cast<size_t>(begin) + i],
                              living[static_cast<size_t>(partners[i])], gains[i]});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.gain > b.gain; });
  return candidates;
}

/// The candidates of which no two share a component, in their order.
std::vector<Candidate> disjoint(const std::vector<Candidate>& candidates, int64_t components) {
  std::vector<bool> taken(static_cast<size_t>(components), false);
  std::vector<Candidate> chosen;
  for (const Candidate& candidate : candidates) {
    const auto one = static_cast<size_t>(candidate.one),
               other = static_cast<size_t>(candidate.other);
    if (taken[one] || taken[other]) continue;
    taken[one] = taken[other] = true;
    chosen.push_back(candidate);
  }
  return chosen;
}

/// What the entropy of the responsibilities loses if the pairs merge, one number per pair.
std::vector<double> entropy_changes(const FactorPosterior& posterior, const FactorData& data,
                                    const std::vector<Candidate>& pairs) {
  std::vector<int64_t> ones, others;
  for (const Candidate& pair : pairs) {
    ones.push_back(pair.one);
    others.push_back(pair.other);
  }
  const auto index = [&](const std::vector<int64_t>& list) {
    return torch::tensor(list, kInt64).to(posterior.counts.device());
  };
  const torch::Tensor first = index(ones), second = index(others);
  torch::Tensor change = torch::zeros({first.size(0)}, posterior.counts.options());
  for_slices(data, posterior.counts.size(0), [&](const FactorData& part) {
    const torch::Tensor gamma = e_step(part.block, posterior, part.labels);
    const torch::Tensor one = gamma.index_select(1, first), other = gamma.index_select(1, second);
    const torch::Tensor sum = one + other;
    change += (torch::xlogy(one, one) + torch::xlogy(other, other) - torch::xlogy(sum, sum)).sum(0);
  });
  return to_doubles(data.scale * change);
}

int64_t merge(MoveGoal goal, FactorPosterior& posterior, Weights& weights, const FactorData& data,
              const FactorHyperprior& hyperprior) {
  const int64_t components = posterior.counts.size(0);
  std::vector<Candidate> pairs =
      disjoint(merge_candidates(goal, posterior, weights, hyperprior), components);
  // The entropy can only fall, and the weights gain a few nats at most.
  std::erase_if(pairs, [](const Candidate& pair) { return pair.gain < -most_weights_gain; });
  if (pairs.empty()) return 0;
  const std::vector<double> entropy = entropy_changes(posterior, data, pairs);
  const FactorPosterior empty = empty_component(posterior, hyperprior);
  int64_t merged = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto [one, other, gain] = pairs[i];
    const double count = weights.images(one) + weights.images(other) + weights.empty();
    const double weights_gain = weights.gain(one, weights.empty(), other, count);
    if (gain + entropy[i] + weights_gain < least_gain) continue;
    weights.change(one, weights.empty(), other, count);
    merge_rows(posterior, other, one, empty);
    ++merged;
  }
  return merged;
}

int64_t split(MoveGoal goal, const Key& key, FactorPosterior& posterior, Weights& weights,
              const FactorData& data, const FactorHyperprior& hyperprior) {
  std::vector<int64_t> room, parents;
  for (int64_t k = 0; k < posterior.counts.size(0); ++k) {
    if (weights.images(k) < fewest_images) room.push_back(k);
    if (weights.images(k) >= 2.0 * fewest_images) parents.push_back(k);
  }
  if (room.empty() || parents.empty()) return 0;
  const Halves halves = best_halves(goal, key, posterior, parents, data, hyperprior);
  const std::vector<double> gain = to_doubles(halves.gain), first = to_doubles(halves.first.counts),
                            second = to_doubles(halves.second.counts);
  std::vector<size_t> order(halves.parents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return gain[a] > gain[b]; });
  size_t done = 0;
  for (const size_t i : order) {
    if (done == room.size()) break;
    const int64_t parent = halves.parents[i], free = room[done];
    if (gain[i] + weights.gain(parent, first[i], free, second[i]) < least_gain) continue;
    weights.change(parent, first[i], free, second[i]);
    set_row(posterior, parent, halves.first, static_cast<int64_t>(i));
    set_row(posterior, free, halves.second, static_cast<int64_t>(i));
    ++done;
  }
  return static_cast<int64_t>(done);
}

}  // namespace

Moves merge_and_split(MoveGoal goal, const Key& key, FactorPosterior& posterior,
                      const FactorData& data, const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  if (posterior.counts.size(0) < 2) return {};
  FactorPosterior changed = copy_of(posterior);
  const auto update = [&] {
    if (changed.concentration.defined()) sort_components(changed);
    exact_update(changed, data, hyperprior);
    return Weights(goal, changed, hyperprior);
  };
  Weights weights(goal, changed, hyperprior);
  Moves moves;
  moves.merged = merge(goal, changed, weights, data, hyperprior);
  if (moves.merged > 0) weights = update();
  moves.split = split(goal, key, changed, weights, data, hyperprior);
  if (moves.split > 0) update();
  if (moves.merged + moves.split == 0) return {};
  // The moves were weighed one by one, with the responsibilities of all others fixed.
  if (factor_worth(goal, changed, data, hyperprior) <
      factor_worth(goal, posterior, data, hyperprior))
    return {};
  posterior.assign(changed);
  return moves;
}

void sort_components(FactorPosterior& posterior) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor order = posterior.counts.argsort(0, /*descending=*/true);
  for (const auto& [name, tensor] : posterior.tensors())
    tensor.copy_(tensor.index_select(0, order));
}

}  // namespace facet
