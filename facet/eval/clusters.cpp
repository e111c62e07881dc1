#include "facet/eval/clusters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace facet {

namespace {

struct Margins {
  std::vector<double> clusters, classes;
  double total = 0;
};

Margins margins(const Contingency& table) {
  Margins result{std::vector<double>(table.size(), 0),
                 std::vector<double>(table.empty() ? 0 : table.front().size(), 0), 0};
  for (size_t k = 0; k < table.size(); ++k)
    for (size_t c = 0; c < table[k].size(); ++c) {
      const auto count = static_cast<double>(table[k][c]);
      result.clusters[k] += count;
      result.classes[c] += count;
      result.total += count;
    }
  return result;
}

/// The number of pairs of items within groups of these sizes.
double pairs(const std::vector<double>& sizes) {
  double sum = 0;
  for (const double size : sizes) sum += 0.5 * size * (size - 1);
  return sum;
}

/// The Hungarian algorithm with potentials, O(rows^2 columns), for rows <= columns: the largest sum
/// of one value per row with no column used twice.
double best_matching(const std::vector<std::vector<double>>& value) {
  const size_t rows = value.size(), columns = value.front().size();
  std::vector<double> row_potential(rows + 1, 0), column_potential(columns + 1, 0);
  std::vector<size_t> row_of(columns + 1, 0), came_from(columns + 1, 0);
  for (size_t row = 1; row <= rows; ++row) {
    std::vector<double> slack(columns + 1, std::numeric_limits<double>::infinity());
    std::vector<bool> visited(columns + 1, false);
    size_t column = 0;
    row_of[0] = row;
    do {
      visited[column] = true;
      const size_t current = row_of[column];
      double step = std::numeric_limits<double>::infinity();
      size_t next = 0;
      for (size_t j = 1; j <= columns; ++j) {
        if (visited[j]) continue;
        const double cost =
            -value[current - 1][j - 1] - row_potential[current] - column_potential[j];
        if (cost < slack[j]) slack[j] = cost, came_from[j] = column;
        if (slack[j] < step) step = slack[j], next = j;
      }
      for (size_t j = 0; j <= columns; ++j) {
        if (visited[j])
          row_potential[row_of[j]] += step, column_potential[j] -= step;
        else
          slack[j] -= step;
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = came_from[column]) row_of[column] = row_of[came_from[column]];
  }
  double sum = 0;
  for (size_t j = 1; j <= columns; ++j)
    if (row_of[j] != 0) sum += value[row_of[j] - 1][j - 1];
  return sum;
}

}  // namespace

Contingency contingency(const std::vector<int64_t>& clusters, const std::vector<int64_t>& classes,
                        int64_t cluster_count, int64_t class_count) {
  Contingency table(static_cast<size_t>(cluster_count),
                    std::vector<int64_t>(static_cast<size_t>(class_count), 0));
  for (size_t n = 0; n < clusters.size(); ++n)
    if (classes[n] >= 0) ++table[static_cast<size_t>(clusters[n])][static_cast<size_t>(classes[n])];
  return table;
}

double entropy(const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  for (const double weight : weights)
    if (const double share = weight / total; share > 0) sum -= share * std::log(share);
  return sum;
}

double mutual_information(const Contingency& table) {
  const Margins margin = margins(table);
  double sum = 0;
  for (size_t k = 0; k < table.size(); ++k)
    for (size_t c = 0; c < table[k].size(); ++c)
      if (const auto count = static_cast<double>(table[k][c]); count > 0)
        sum += count / margin.total *
               std::log(count * margin.total / (margin.clusters[k] * margin.classes[c]));
  return std::max(sum, 0.0);
}

double explained_share(const Contingency& table) {
  const Margins margin = margins(table);
  const auto occupied = [](const std::vector<double>& sizes) {
    return static_cast<double>(
        std::count_if(sizes.begin(), sizes.end(), [](double size) { return size > 0; }));
  };
  const double all = entropy(margin.classes);
  if (margin.total == 0 || all == 0) return 0.0;
  const double by_chance =
      (occupied(margin.clusters) - 1) * (occupied(margin.classes) - 1) / (2 * margin.total);
  return std::max(0.0, mutual_information(table) - by_chance) / all;
}

Standout strongest_pair(const Contingency& table) {
  const Margins margin = margins(table);
  Standout result;
  double most = 0;
  for (size_t k = 0; k < table.size(); ++k)
    for (size_t c = 0; c < table[k].size(); ++c) {
      const auto count = static_cast<double>(table[k][c]);
      if (count == 0) continue;
      const double share = count / margin.clusters[k], usual = margin.classes[c] / margin.total;
      const double information = count / margin.total * std::log(share / usual);
      if (information <= most) continue;
      most = information;
      result = {static_cast<int64_t>(k), static_cast<int64_t>(c),
                static_cast<int64_t>(margin.clusters[k]), share, usual};
    }
  return result;
}

double normalised_mutual_information(const Contingency& table) {
  const Margins margin = margins(table);
  const double mean = 0.5 * (entropy(margin.clusters) + entropy(margin.classes));
  return mean > 0 ? mutual_information(table) / mean : 0.0;
}

double adjusted_rand_index(const Contingency& table) {
  const Margins margin = margins(table);
  if (margin.total == 0) return 0.0;
  double together = 0;
  for (const auto& row : table) together += pairs({row.begin(), row.end()});
  const double clusters = pairs(margin.clusters), classes = pairs(margin.classes);
  const double all = pairs({margin.total});
  const double chance = all > 0 ? clusters * classes / all : 0.0;
  const double most = 0.5 * (clusters + classes);
  // Both are one group, or both are all single items: the partitions are identical.
  return most == chance ? 1.0 : (together - chance) / (most - chance);
}

double information_gap(const std::vector<double>& information, double entropy) {
  double best = 0, second = 0;
  for (const double value : information) {
    second = std::max(second, std::min(best, value));
    best = std::max(best, value);
  }
  return (best - second) / entropy;
}

std::vector<std::vector<double>> dependence(const std::vector<std::vector<int64_t>>& codes,
                                            const std::vector<int64_t>& components) {
  const size_t factors = codes.size();
  std::vector<std::vector<double>> result(factors, std::vector<double>(factors, 1.0));
  for (size_t i = 0; i < factors; ++i)
    for (size_t j = 0; j < i; ++j)
      result[i][j] = result[j][i] = normalised_mutual_information(
          contingency(codes[i], codes[j], components[i], components[j]));
  return result;
}

double mean_dependence(const std::vector<std::vector<double>>& dependence) {
  const size_t factors = dependence.size();
  double sum = 0;
  for (size_t i = 0; i < factors; ++i)
    for (size_t j = 0; j < i; ++j) sum += dependence[i][j];
  const auto pairs = static_cast<double>(factors * (factors - 1) / 2);
  return pairs > 0 ? sum / pairs : 0.0;
}

double purity(const Contingency& table) {
  int64_t right = 0;
  for (const auto& row : table)
    if (!row.empty()) right += *std::max_element(row.begin(), row.end());
  const double total = margins(table).total;
  return total > 0 ? static_cast<double>(right) / total : 0.0;
}

double accuracy(const Contingency& table) {
  int64_t right = 0;
  for (size_t k = 0; k < table.size(); ++k)
    if (k < table[k].size()) right += table[k][k];
  const double total = margins(table).total;
  return total > 0 ? static_cast<double>(right) / total : 0.0;
}

double matched_accuracy(const Contingency& table) {
  const Margins margin = margins(table);
  if (margin.total == 0) return 0.0;
  const bool transpose = margin.clusters.size() > margin.classes.size();
  const size_t rows = transpose ? margin.classes.size() : margin.clusters.size();
  const size_t columns = transpose ? margin.clusters.size() : margin.classes.size();
  std::vector<std::vector<double>> value(rows, std::vector<double>(columns));
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      value[r][c] = static_cast<double>(transpose ? table[c][r] : table[r][c]);
  return best_matching(value) / margin.total;
}

double perplexity(const std::vector<double>& weights) { return std::exp(entropy(weights)); }

}  // namespace facet
