#include "facet/serve/image_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "facet/core/torch.h"

namespace facet {

namespace {

constexpr int64_t kFewestLabels = 5;  // labelled images of a component to say something about it
constexpr double kClearExplanation = 0.5;  // normalised mutual information that suggests a name
constexpr size_t kMostStatements = 3;

/// How many images of each component have each value of a property, [K][V].
std::vector<std::vector<int64_t>> count_values(const ImageTable& table, const Pack& pack,
                                               size_t factor, int64_t components, size_t property) {
  const size_t values = pack.properties[property].values.size();
  std::vector counts(static_cast<size_t>(components), std::vector<int64_t>(values, 0));
  const auto labels = pack.labels.accessor<int32_t, 2>();
  for (int64_t n = 0; n < table.images; ++n) {
    const int32_t label = labels[n][static_cast<int64_t>(property)];
    if (label >= 0)
      ++counts[static_cast<size_t>(table.components[table.place(n, factor)])]
              [static_cast<size_t>(label)];
  }
  return counts;
}

double entropy(const std::vector<double>& counts, double total) {
  double sum = 0;
  for (const double count : counts)
    if (count > 0) sum -= count / total * std::log(count / total);
  return sum;
}

/// Mutual information over the entropy of the values: 1 where the component tells the value.
double explained(const std::vector<std::vector<int64_t>>& counts) {
  std::vector<double> by_value(counts.empty() ? 0 : counts[0].size(), 0);
  double total = 0, conditional = 0;
  for (const auto& row : counts)
    for (size_t v = 0; v < row.size(); ++v) {
      by_value[v] += static_cast<double>(row[v]);
      total += static_cast<double>(row[v]);
    }
  if (total == 0) return 0;
  for (const auto& row : counts) {
    const double size = static_cast<double>(std::accumulate(row.begin(), row.end(), int64_t{0}));
    if (size > 0)
      conditional += size / total * entropy(std::vector<double>(row.begin(), row.end()), size);
  }
  const double whole = entropy(by_value, total);
  return whole > 0 ? 1 - conditional / whole : 0;
}

struct Statement {
  size_t property, value;
  double share, telling;
};

}  // namespace

ImageTable::ImageTable(int64_t images_, size_t factors_)
    : images(images_),
      factors(factors_),
      components(static_cast<size_t>(images) * factors),
      probabilities(components.size()),
      densities(components.size()),
      typicality(static_cast<size_t>(images)) {}

void ImageTable::take(const FactorialMixture& prior, const Encoding& encoding, int64_t start) {
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  for (size_t i = 0; i < factors; ++i) {
    const auto [probability, component] = e_step(blocks[i], prior.posteriors[i], {}).max(1);
    const torch::Tensor density =
        predictive_log_density(blocks[i].mean, prior.posteriors[i]).to(torch::kCPU).to(kFloat64);
    const torch::Tensor chances = probability.to(torch::kCPU).to(kFloat64);
    const torch::Tensor chosen = component.to(torch::kCPU);
    for (int64_t n = 0; n < density.size(0); ++n) {
      const size_t at = place(start + n, i);
      components[at] = static_cast<int32_t>(chosen[n].item<int64_t>());
      probabilities[at] = static_cast<float>(chances[n].item<double>());
      densities[at] = static_cast<float>(density[n].item<double>());
      typicality[static_cast<size_t>(start + n)] += densities[at];
    }
  }
}

void ImageTable::finish(const Pack& pack) {
  for (const int64_t row : reference_rows(pack, images))
    reference.push_back(typicality[static_cast<size_t>(row)]);
  std::sort(reference.begin(), reference.end());
  std::sort(errors.begin(), errors.end());
}

std::vector<int64_t> chosen_images(const ImageTable& table, const torch::Tensor& labels,
                                   const ImageChoice& choice) {
  const bool by_factor = choice.factor >= 0;
  const auto factor = static_cast<size_t>(std::max<int64_t>(choice.factor, 0));
  std::vector<int64_t> rows;
  for (int64_t n = 0; n < table.images; ++n) {
    if (by_factor && choice.component >= 0 &&
        table.components[table.place(n, factor)] != choice.component)
      continue;
    if (choice.property >= 0 && labels[n][choice.property].item<int64_t>() != choice.value)
      continue;
    rows.push_back(n);
  }
  if (choice.order == ImageOrder::index) return rows;
  const auto key = [&](int64_t row) {
    const size_t at = table.place(row, factor);
    if (choice.order == ImageOrder::borderline) return table.probabilities[at];
    const float density =
        by_factor ? table.densities[at] : table.typicality[static_cast<size_t>(row)];
    return choice.order == ImageOrder::typical ? -density : density;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](int64_t one, int64_t other) { return key(one) < key(other); });
  return rows;
}

Json label_statements(const ImageTable& table, const Pack& pack, const FactorOptions& factor,
                      size_t index) {
  std::vector<int64_t> images(static_cast<size_t>(factor.components), 0);
  for (int64_t n = 0; n < table.images; ++n)
    ++images[static_cast<size_t>(table.components[table.place(n, index)])];
  std::vector<std::vector<Statement>> found(images.size());
  Json answer = {{"name", factor.name}, {"property", Json()}, {"explained", 0.0}};
  for (size_t p = 0; p < pack.properties.size(); ++p) {
    const auto counts = count_values(table, pack, index, factor.components, p);
    const double share_explained = explained(counts);
    if (share_explained > answer["explained"].get<double>()) {
      answer["explained"] = share_explained;
      if (share_explained >= kClearExplanation) answer["property"] = pack.properties[p].name;
    }
    double all = 0;
    std::vector<double> of_value(pack.properties[p].values.size(), 0);
    for (const auto& row : counts)
      for (size_t v = 0; v < row.size(); ++v) {
        of_value[v] += static_cast<double>(row[v]);
        all += static_cast<double>(row[v]);
      }
    for (size_t k = 0; k < counts.size(); ++k) {
      const int64_t size = std::accumulate(counts[k].begin(), counts[k].end(), int64_t{0});
      if (size < kFewestLabels) continue;
      const size_t best = static_cast<size_t>(std::max_element(counts[k].begin(), counts[k].end()) -
                                              counts[k].begin());
      const double share = static_cast<double>(counts[k][best]) / static_cast<double>(size);
      const double usual = of_value[best] / all;
      if (share > usual) found[k].push_back({p, best, share, share * std::log(share / usual)});
    }
  }
  Json components = Json::array();
  for (size_t k = 0; k < found.size(); ++k) {
    std::sort(found[k].begin(), found[k].end(), [](const Statement& one, const Statement& other) {
      return one.telling > other.telling;
    });
    Json says = Json::array();
    for (const Statement& each : found[k])
      if (says.size() < kMostStatements && (says.empty() || each.telling > 0.05))
        says.push_back({{"property", pack.properties[each.property].name},
                        {"value", pack.properties[each.property].values[each.value]},
                        {"share", each.share}});
    components.push_back({{"index", k}, {"images", images[k]}, {"says", says}});
  }
  answer["components"] = components;
  return answer;
}

double percentile(const std::vector<double>& sorted, double value) {
  if (sorted.empty()) return 50;
  const auto below = std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
  return 100.0 * static_cast<double>(below) / static_cast<double>(sorted.size());
}

std::vector<int64_t> reference_rows(const Pack& pack, int64_t images) {
  std::vector<int64_t> rows;
  for (const bool only_test : {true, false}) {
    for (int64_t n = 0; n < images && static_cast<int64_t>(rows.size()) < kMostReferenceImages; ++n)
      if (!only_test || pack.split[n].item<int64_t>() == static_cast<int64_t>(Split::test))
        rows.push_back(n);
    if (!rows.empty()) break;
  }
  return rows;
}

torch::Tensor image_errors(const torch::Tensor& pixels, const torch::Tensor& means) {
  return (pixels.to(kFloat64) - means.to(kFloat64)).square().flatten(1).mean(1).sqrt();
}

torch::Tensor typicality(const FactorialMixture& prior, const torch::Tensor& z) {
  torch::Tensor sum;
  const auto blocks = prior.split(z);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const torch::Tensor density = predictive_log_density(blocks[i], prior.posteriors[i]);
    sum = i == 0 ? density : sum + density;
  }
  return sum.to(torch::kCPU).to(kFloat64);
}

}  // namespace facet
