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

/// Mutual information in nats.
double mutual_information(const Contingency& table);

/// Mutual information over the mean of the two entropies, 0 to 1; 0 where both are single groups.
double normalised_mutual_information(const Contingency& table);

/// Share of items in the most frequent class of their cluster; grows with the number of clusters.
double purity(const Contingency& table);

/// Share of items whose cluster has the number of their class.
double accuracy(const Contingency& table);

/// Share of items that are right under the best matching of clusters to classes, one to one.
double matched_accuracy(const Contingency& table);

/// exp of the entropy of a distribution given up to a factor.
double perplexity(const std::vector<double>& weights);

}  // namespace facet
