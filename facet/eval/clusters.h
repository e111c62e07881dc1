// How well a clustering agrees with known classes. All measures are computed from the contingency
// table, the number of items for every pair of cluster and class; items of unknown class (-1) are
// left out.
#pragma once

#include <cstdint>
#include <vector>

namespace facet {

/// counts[cluster][class].
using Contingency = std::vector<std::vector<int64_t>>;

Contingency contingency(const std::vector<int64_t>& clusters, const std::vector<int64_t>& classes,
                        int64_t cluster_count, int64_t class_count);

/// Entropy in nats of the distribution proportional to `weights`.
double entropy(const std::vector<double>& weights);

/// Mutual information in nats.
double mutual_information(const Contingency& table);

/// Share of the classes' entropy that the clusters explain, 0 to 1, corrected for chance: from the
/// mutual information we subtract what random clusters have in expectation, (K - 1)(V - 1) / 2N
/// nats for K clusters and V classes with items. 0 if there is a single class.
double explained_share(const Contingency& table);

/// A cluster and a class that occur together more often than by chance.
struct Standout {
  int64_t cluster = 0, klass = 0;
  int64_t items = 0;       ///< number of items in the cluster
  double share = 0;        ///< share of the cluster's items that are in the class
  double usual_share = 0;  ///< share of all items that are in the class
};
/// The pair that contributes most to the mutual information: neither a cluster of two items nor a
/// class that is frequent everywhere wins.
Standout strongest_pair(const Contingency& table);

/// Mutual information over the mean of the two entropies, 0 to 1; 0 if both are a single group.
double normalised_mutual_information(const Contingency& table);

/// Agreement on pairs of items, corrected for chance (Hubert and Arabie, 1985): 1 for identical
/// groups, 0 in expectation for random groups of the same sizes, negative if worse than random.
double adjusted_rand_index(const Contingency& table);

/// The mutual information gap of Chen et al. (2018): the highest mutual information of a variable
/// with a property, minus the second highest (0 for a single variable), over the property's
/// entropy. `information` has one number per variable; the entropy must be positive.
double information_gap(const std::vector<double>& information, double entropy);

/// NMI of the codes of every two factors, [I][I], with ones on the diagonal; codes[i] has one
/// component of factor i per image, each below components[i].
std::vector<std::vector<double>> dependence(const std::vector<std::vector<int64_t>>& codes,
                                            const std::vector<int64_t>& components);

/// The mean over pairs of different factors; 0 for a single factor.
double mean_dependence(const std::vector<std::vector<double>>& dependence);

/// Share of items in the most frequent class of their cluster; it grows with the number of
/// clusters.
double purity(const Contingency& table);

/// Share of items whose cluster index is their class index.
double accuracy(const Contingency& table);

/// Accuracy under the best one-to-one matching of clusters to classes.
double matched_accuracy(const Contingency& table);

/// exp of the entropy of the distribution proportional to `weights`.
double perplexity(const std::vector<double>& weights);

}  // namespace facet
