#include "facet/train/naming.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"

namespace facet {

std::vector<int64_t> find_label_columns(const std::vector<FactorOptions>& factors,
                                        const Pack& pack) {
  std::vector<std::string> names;
  for (const Property& property : pack.properties) names.push_back(property.name);
  std::vector<int64_t> columns;
  for (const FactorOptions& factor : factors) {
    const auto found = std::find(names.begin(), names.end(), factor.property);
    if (factor.named() && found == names.end())
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = "no such property in the data",
                   .expected = "one of its properties",
                   .cause = suggest(factor.property, names)});
    columns.push_back(factor.named() ? found - names.begin() : -1);
  }
  return columns;
}

Config with_value_names(Config config, const Pack& pack) {
  const auto columns = find_label_columns(config.model.factors, pack);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0) continue;
    FactorOptions& factor = config.model.factors[i];
    const std::vector<std::string>& values =
        pack.properties[static_cast<size_t>(columns[i])].values;
    if (!factor.values.empty() && factor.values != values)
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = fmt::format("values {} in the data", fmt::join(values, ", ")),
                   .expected = fmt::format("{}", fmt::join(factor.values, ", ")),
                   .cause = "was the pack imported anew?"});
    factor.values = values;
    if (static_cast<int64_t>(factor.values.size()) > factor.components)
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = fmt::format("{} values for {} components", factor.values.size(),
                                        factor.components),
                   .expected = "at least as many components as values"});
  }
  return config;
}

torch::Tensor factor_labels(const torch::Tensor& labels, const std::vector<int64_t>& columns) {
  if (std::all_of(columns.begin(), columns.end(), [](int64_t column) { return column < 0; }))
    return {};
  std::vector<torch::Tensor> chosen;
  for (const int64_t column : columns)
    chosen.push_back(column < 0 ? torch::full({labels.size(0)}, -1, labels.options())
                                : labels.select(1, column));
  return torch::stack(chosen, 1);
}

torch::Tensor value_weights(const torch::Tensor& labels, int64_t components, double balance) {
  const torch::Tensor known = labels.index_select(0, labels.ge(0).nonzero().squeeze(1));
  const torch::Tensor counts = torch::bincount(known, {}, components).to(torch::kFloat64);
  const torch::Tensor weights = counts.clamp_min(1.0).pow(-balance);
  return weights / ((weights * counts).sum() / counts.sum().clamp_min(1.0)).clamp_min(1e-12);
}

}  // namespace facet
