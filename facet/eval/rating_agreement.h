// How far ratings of people can be trusted: intervals of a share of right answers, and how much
// raters agree. All are textbook definitions on plain numbers (docs/survey.md names them);
// tests/scripts/survey_reference.py computes each anew from its definition.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace facet {

/// Of 95 % confidence.
struct Interval {
  double low = 0, high = 1;
};

/// Wilson's score interval of a share: `right` of `count`, which is at least 1.
Interval wilson_interval(int64_t right, int64_t count);

/// The answers about one item.
struct ItemAnswers {
  int64_t right = 0, count = 0;
};

inline constexpr int64_t kBootstrapDraws = 2000;

/// The percentile interval of the share of right answers when items are drawn with replacement,
/// each with all its answers: answers about one item are not independent. Items have a count of at
/// least 1, and there is at least one item. Draws come from splitmix64, so that anyone can repeat
/// them: item floor(n u) with u the upper 53 bits.
Interval bootstrap_interval(const std::vector<ItemAnswers>& items, uint64_t seed,
                            int64_t draws = kBootstrapDraws);

/// Answers by rater and item, as numbers from 0; -1 where the rater has not answered.
using Ratings = std::vector<std::vector<int>>;

/// The share of pairs of answers about the same item that are equal; none without such a pair.
std::optional<double> raw_agreement(const Ratings& ratings);

/// Cohen's kappa of two raters, over the items that both answered; none where there are none, or
/// where chance alone would make them agree on all.
std::optional<double> cohen_kappa(const std::vector<int>& first, const std::vector<int>& second);

/// Cohen's kappa of all pairs of raters.
struct MeanKappa {
  std::optional<double> value;  ///< the mean over the pairs that have one
  int64_t pairs = 0;            ///< so many have
};
MeanKappa mean_kappa(const Ratings& ratings);

/// Krippendorff's alpha for nominal values, with any number of missing answers; none where no item
/// has two answers, or all answers are the same.
std::optional<double> krippendorff_alpha(const Ratings& ratings);

}  // namespace facet
