#include "facet/eval/rating_agreement.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

namespace facet {

namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // of 97.5 %
constexpr double kLowTail = 0.025, kHighTail = 0.975;

/// splitmix64: the next number of a sequence.
uint64_t next_random(uint64_t& state) {
  uint64_t x = state += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Between the two nearest of sorted values, linearly.
double sorted_quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// How often each answer was given about each item: counts[item][answer].
std::vector<std::map<int, int64_t>> answer_counts(const Ratings& ratings) {
  std::vector<std::map<int, int64_t>> counts(ratings.empty() ? 0 : ratings.front().size());
  for (const std::vector<int>& rater : ratings) {
    assert(rater.size() == counts.size());
    for (size_t item = 0; item < rater.size(); ++item)
      if (rater[item] >= 0) ++counts[item][rater[item]];
  }
  return counts;
}

int64_t total_count(const std::map<int, int64_t>& counts) {
  int64_t total = 0;
  for (const auto& [answer, count] : counts) total += count;
  return total;
}

}  // namespace

Interval wilson_interval(int64_t right, int64_t count) {
  assert(count > 0 && right >= 0 && right <= count);
  const auto n = static_cast<double>(count);
  const double share = static_cast<double>(right) / n, z = kNormalQuantile;
  const double centre = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half =
      z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

Interval bootstrap_interval(const std::vector<ItemAnswers>& items, uint64_t seed, int64_t draws) {
  assert(!items.empty() && draws > 0);
  std::vector<double> shares;
  uint64_t state = seed;
  for (int64_t draw = 0; draw < draws; ++draw) {
    int64_t right = 0, count = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const double u = static_cast<double>(next_random(state) >> 11) * 0x1p-53;
      const ItemAnswers& item = items[static_cast<size_t>(u * static_cast<double>(items.size()))];
      right += item.right;
      count += item.count;
    }
    shares.push_back(static_cast<double>(right) / static_cast<double>(count));
  }
  std::sort(shares.begin(), shares.end());
  return {sorted_quantile(shares, kLowTail), sorted_quantile(shares, kHighTail)};
}

std::optional<double> raw_agreement(const Ratings& ratings) {
  int64_t equal = 0, pairs = 0;
  for (const auto& counts : answer_counts(ratings)) {
    const int64_t total = total_count(counts);
    pairs += total * (total - 1) / 2;
    for (const auto& [answer, count] : counts) equal += count * (count - 1) / 2;
  }
  if (pairs == 0) return std::nullopt;
  return static_cast<double>(equal) / static_cast<double>(pairs);
}

std::optional<double> cohen_kappa(const std::vector<int>& first, const std::vector<int>& second) {
  assert(first.size() == second.size());
  std::map<int, int64_t> of_first, of_second;
  int64_t count = 0, equal = 0;
  for (size_t item = 0; item < first.size(); ++item) {
    if (first[item] < 0 || second[item] < 0) continue;
    ++count;
    ++of_first[first[item]];
    ++of_second[second[item]];
    equal += first[item] == second[item] ? 1 : 0;
  }
  if (count == 0) return std::nullopt;
  const auto n = static_cast<double>(count);
  double expected = 0;
  for (const auto& [answer, often] : of_first)
    if (const auto other = of_second.find(answer); other != of_second.end())
      expected += static_cast<double>(often) / n * static_cast<double>(other->second) / n;
  if (of_first.size() == 1 && of_second.size() == 1 &&
      of_first.begin()->first == of_second.begin()->first)
    return std::nullopt;  // both always give the one answer
  return (static_cast<double>(equal) / n - expected) / (1 - expected);
}

MeanKappa mean_kappa(const Ratings& ratings) {
  MeanKappa mean;
  double sum = 0;
  for (size_t i = 0; i < ratings.size(); ++i)
    for (size_t j = i + 1; j < ratings.size(); ++j)
      if (const auto kappa = cohen_kappa(ratings[i], ratings[j])) {
        sum += *kappa;
        ++mean.pairs;
      }
  if (mean.pairs > 0) mean.value = sum / static_cast<double>(mean.pairs);
  return mean;
}

std::optional<double> krippendorff_alpha(const Ratings& ratings) {
  // Units with one answer alone say nothing of agreement, and are left out everywhere.
  std::map<int, double> totals;
  double pairable = 0, disagreement = 0;
  for (const auto& counts : answer_counts(ratings)) {
    const auto answers = static_cast<double>(total_count(counts));
    if (answers < 2) continue;
    pairable += answers;
    for (const auto& [answer, count] : counts) {
      const auto often = static_cast<double>(count);
      totals[answer] += often;
      disagreement += often * (answers - often) / (answers - 1);
    }
  }
  double expected = 0;
  for (const auto& [answer, total] : totals) expected += total * (pairable - total);
  if (expected == 0) return std::nullopt;
  return 1 - (pairable - 1) * disagreement / expected;
}

}  // namespace facet
