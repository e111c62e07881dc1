#include "facet/prior/merge_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/prior/evidence.h"

namespace facet {

namespace {

/// Draws per component: with fewer, trees of small mixtures differ between keys.
constexpr int64_t most_draws = 400;
/// ... and of all components together, so that thousands of components take seconds.
constexpr int64_t all_draws = 200000;
constexpr int64_t fewest_draws = 50;

torch::Tensor to_index(const std::vector<int64_t>& numbers) {
  return torch::tensor(numbers, kInt64);
}

/// log density of points z [B, D] in the chosen components (int64 [L]) with their weights, [B, L].
torch::Tensor point_scores(const torch::Tensor& z, const FactorPosterior& posterior,
                           const torch::Tensor& chosen) {
  return expected_log_normal({z, torch::zeros_like(z)}, chosen_components(posterior, chosen)) +
         posterior.expected_log_weights().index_select(0, chosen);
}

/// Groups of leaves as they merge: how often they are neighbours, F, and its sums by group.
class Neighbours {
 public:
  Neighbours(const torch::Tensor& next, torch::Tensor weights) : count_(weights.size(0)) {
    weights = weights / weights.sum();
    const torch::Tensor one_way = weights.unsqueeze(1) * next, both_ways = one_way + one_way.t();
    flow_ = to_doubles(0.5 * both_ways);
    sums_ = to_doubles(0.5 * both_ways.sum(1));
    open_.assign(static_cast<size_t>(count_), true);
    best_.resize(static_cast<size_t>(count_));
    for (int64_t i = 0; i < count_; ++i) find_best(i);
  }

  struct Pair {
    int64_t one, other;
    double lift;
  };
  /// The two open groups with the highest lift, the first ones of equals.
  Pair closest() const {
    Pair pair{-1, -1, -1};
    for (int64_t i = 0; i < count_; ++i)
      if (is_open(i) && lift(i, best_[at(i)]) > pair.lift)
        pair = {i, best_[at(i)], lift(i, best_[at(i)])};
    return pair;
  }

  /// As a weighted mean, the lift of both with a third group is not above the higher one of the
  /// two: other groups keep their best partner unless it was one of the two.
  void merge(int64_t into, int64_t from) {
    open_[at(from)] = false;
    for (int64_t j = 0; j < count_; ++j)
      if (j != into && is_open(j)) flow(j, into) = flow(into, j) += flow(from, j);
    sums_[at(into)] += sums_[at(from)];
    find_best(into);
    for (int64_t j = 0; j < count_; ++j)
      if (is_open(j) && (best_[at(j)] == into || best_[at(j)] == from)) find_best(j);
  }

 private:
  static size_t at(int64_t i) { return static_cast<size_t>(i); }
  bool is_open(int64_t i) const { return open_[at(i)]; }
  double& flow(int64_t i, int64_t j) { return flow_[at(i * count_ + j)]; }
  double lift(int64_t i, int64_t j) const {
    const double chance = sums_[at(i)] * sums_[at(j)];
    return chance > 0 ? flow_[at(i * count_ + j)] / chance : 0.0;
  }
  void find_best(int64_t i) {
    best_[at(i)] = i == 0 ? count_ - 1 : 0;
    double highest = -1;
    for (int64_t j = 0; j < count_; ++j)
      if (j != i && is_open(j) && lift(i, j) > highest) {
        best_[at(i)] = j;
        highest = lift(i, j);
      }
  }

  int64_t count_;
  std::vector<double> flow_, sums_;
  std::vector<bool> open_;
  std::vector<int64_t> best_;
};

/// The bound's view of the same merges: a group as one component.
class MergedBound {
 public:
  MergedBound(const FactorPosterior& posterior, const FactorHyperprior& hyperprior)
      : all_(copy_of(posterior)),
        empty_(empty_component(posterior, hyperprior)),
        nothing_(empty_log_normaliser(hyperprior, posterior.components.alpha.size(1))),
        concentration_(hyperprior.concentration),
        normalisers_(to_doubles(log_normalisers(posterior))),
        weights_(weights_evidence(to_doubles(all_.counts), concentration_)) {}

  /// Merges two components and returns what the bound loses.
  double merge(int64_t into, int64_t from) {
    double& own = normalisers_[static_cast<size_t>(into)];
    const double before = own + normalisers_[static_cast<size_t>(from)] + weights_;
    merge_rows(all_, into, from, empty_);
    const auto row = [&](const torch::Tensor& values) { return values.narrow(0, into, 1); };
    const NaturalNormalGamma& natural = all_.components;
    own = log_normaliser({row(natural.log_alpha), row(natural.alpha), row(natural.alpha_mu),
                          row(natural.alpha_mu2)})
              .sum()
              .item<double>();
    weights_ = weights_evidence(to_doubles(all_.counts), concentration_);
    return before - own - nothing_ - weights_;
  }

 private:
  FactorPosterior all_, empty_;
  double nothing_;
  torch::Tensor concentration_;
  std::vector<double> normalisers_;
  double weights_;
};

}  // namespace

torch::Tensor next_components(const Key& key, const FactorPosterior& posterior,
                              const std::vector<int64_t>& living, int64_t draws) {
  torch::NoGradGuard no_gradient;
  const FactorPosterior own = posterior.to(torch::kCPU);
  const torch::Tensor chosen = to_index(living);
  const auto count = static_cast<int64_t>(living.size());
  torch::Tensor next = torch::zeros({count, count}, kFloat64);
  for (int64_t i = 0; count > 1 && i < count; ++i) {
    const int64_t component = living[static_cast<size_t>(i)];
    const torch::Tensor z = sample_blocks(key.fold(static_cast<uint64_t>(component)), own,
                                          same_component(own, component, draws));
    torch::Tensor scores = point_scores(z, own, chosen);
    scores.select(1, i).fill_(-std::numeric_limits<double>::infinity());
    next[i] = torch::softmax(scores, 1).mean(0);
  }
  return next;
}

MergeTree merge_tree(const FactorPosterior& posterior, const FactorHyperprior& hyperprior) {
  torch::NoGradGuard no_gradient;
  const FactorPosterior own = posterior.to(torch::kCPU);
  const FactorHyperprior base = hyperprior.to(torch::kCPU);
  MergeTree tree;
  tree.images = to_doubles((own.counts - base.count).clamp_min(0));
  std::vector<int64_t> living;
  for (size_t k = 0; k < tree.images.size(); ++k)
    if (tree.images[k] > 1.0) living.push_back(static_cast<int64_t>(k));
  if (living.empty())
    throw Error({.doing = "merging components",
                 .found = "no living one",
                 .expected = "a factor whose components have images",
                 .cause = "training stopped before the mixtures were placed"});
  const auto count = static_cast<int64_t>(living.size());
  const torch::Tensor chosen = to_index(living);

  const torch::Tensor nearest =
      chosen.index_select(0, point_scores(own.mean().m, own, chosen).argmax(1));
  tree.leaf = to_integers(nearest);
  for (const int64_t k : living) tree.leaf[static_cast<size_t>(k)] = k;

  const int64_t draws = std::clamp(all_draws / count, fewest_draws, most_draws);
  Neighbours groups(next_components(Key(1).fold("merge tree"), own, living, draws),
                    own.expected_weights().index_select(0, chosen));
  MergedBound bound(own, base);
  for (int64_t step = 1; step < count; ++step) {
    const auto [one, other, lift] = groups.closest();
    groups.merge(one, other);
    const int64_t into = living[static_cast<size_t>(one)],
                  from = living[static_cast<size_t>(other)];
    tree.merges.push_back({into, from, lift, bound.merge(into, from)});
  }
  return tree;
}

Groups MergeTree::cut(int64_t count) const {
  if (count < 1 || count > living())
    throw Error({.doing = "merging components into groups",
                 .found = fmt::format("{} groups", count),
                 .expected = fmt::format("1 to {}, the number of living components", living())});
  std::vector<std::vector<int64_t>> members(images.size());
  for (size_t k = 0; k < images.size(); ++k)
    if (leaf[k] == static_cast<int64_t>(k) && images[k] > 1.0)
      members[k].push_back(static_cast<int64_t>(k));
  for (int64_t i = 0; i < living() - count; ++i) {
    auto& into = members[static_cast<size_t>(merges[static_cast<size_t>(i)].into)];
    auto& from = members[static_cast<size_t>(merges[static_cast<size_t>(i)].from)];
    into.insert(into.end(), from.begin(), from.end());
    from.clear();
  }
  std::erase_if(members, [](const auto& group) { return group.empty(); });
  const auto images_of = [&](const std::vector<int64_t>& group) {
    return std::accumulate(group.begin(), group.end(), 0.0, [&](double sum, int64_t k) {
      return sum + images[static_cast<size_t>(k)];
    });
  };
  for (auto& group : members)
    std::stable_sort(group.begin(), group.end(), [&](int64_t a, int64_t b) {
      return images[static_cast<size_t>(a)] > images[static_cast<size_t>(b)];
    });
  std::stable_sort(members.begin(), members.end(),
                   [&](const auto& a, const auto& b) { return images_of(a) > images_of(b); });
  return members;
}

std::vector<int64_t> MergeTree::group_of(int64_t count) const {
  std::vector<int64_t> result(images.size(), 0);
  const Groups groups = cut(count);
  for (size_t g = 0; g < groups.size(); ++g)
    for (const int64_t k : groups[g]) result[static_cast<size_t>(k)] = static_cast<int64_t>(g);
  for (size_t k = 0; k < result.size(); ++k) result[k] = result[static_cast<size_t>(leaf[k])];
  return result;
}

int64_t MergeTree::natural_cut() const {
  const auto first_below = std::find_if(merges.begin(), merges.end(),
                                        [](const Merge& merge) { return merge.lift <= 1; });
  return living() - (first_below - merges.begin());
}

int64_t MergeTree::bound_cut() const {
  double loss = 0, least = 0;
  int64_t best = living();
  for (size_t i = 0; i < merges.size(); ++i) {
    loss += merges[i].loss;
    if (loss < least) {
      least = loss;
      best = living() - static_cast<int64_t>(i) - 1;
    }
  }
  return best;
}

}  // namespace facet
