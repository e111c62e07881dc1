// How well a clustering agrees with known classes. All measures come from the contingency table,
// the count of items for every pair of cluster and class; items of unknown class (-1) are left out.
#pragma once

#include <cstdint>
#include <vector>

namespace facet {

/// counts[cluster][class].
using Contingency = std::vector<std::vector<int64_t>>;

Contingency contingency(const std::vector<int64_t>& clusters, const std::vector<int64_t>& classes,
                        int64_t cluster_count, int64_t class_count);

/// Entropy in nats of a distribution given up to a factor.
double entropy(const std::vector<double>& weights);

/// Mutual information in nats.
double mutual_information(const Contingency& table);

/// Share of the classes' entropy that clusters say, 0 to 1, less what clusters drawn by chance
/// would seem to say, (K - 1)(V - 1) / 2N nats for K clusters and V classes that have items. 0
/// where there is a single class.
double explained_share(const Contingency& table);

/// A cluster and a class that meet more often than by chance.
struct Standout {
  int64_t cluster = 0, klass = 0;
  int64_t items = 0;       ///< of the cluster
  double share = 0;        ///< of them in the class
  double usual_share = 0;  ///< of all items in the class
};
/// The pair that adds most to the mutual information, so that neither a cluster of two items nor
/// a class that is everywhere wins.
Standout strongest_pair(const Contingency& table);

/// Mutual information over the mean of the two entropies, 0 to 1; 0 where both are single groups.
double normalised_mutual_information(const Contingency& table);

/// Agreement on pairs of items, corrected for chance (Hubert and Arabie, 1985): 1 for the same
/// groups, 0 in expectation for random ones of the same sizes, below 0 where it is worse.
double adjusted_rand_index(const Contingency& table);

/// How much more the best variable says about a property than the second best, as a share of the
/// property's entropy (the mutual information gap of Chen et al., 2018). A single variable has a
/// second best of 0. `information` holds one number a variable; the entropy is positive.
double information_gap(const std::vector<double>& information, double entropy);

/// NMI of the codes of every two factors, [I][I], with ones on the diagonal; codes[i] are one
/// factor's components of all images, each below components[i].
std::vector<std::vector<double>> dependence(const std::vector<std::vector<int64_t>>& codes,
                                            const std::vector<int64_t>& components);

/// The mean over pairs of different factors; 0 for a single factor.
double mean_dependence(const std::vector<std::vector<double>>& dependence);

/// Share of items in the most frequent class of their cluster; grows with the number of clusters.
double purity(const Contingency& table);

/// Share of items whose cluster has the number of their class.
double accuracy(const Contingency& table);

/// Share of items that are right under the best matching of clusters to classes, one to one.
double matched_accuracy(const Contingency& table);

/// exp of the entropy of a distribution given up to a factor.
double perplexity(const std::vector<double>& weights);

}  // namespace facet
