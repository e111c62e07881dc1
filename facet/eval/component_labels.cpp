#include "facet/eval/component_labels.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"

namespace facet {

torch::Tensor component_labels(const torch::Tensor& labels, const Property& property,
                               const FactorOptions& factor) {
  torch::Tensor components = torch::full_like(labels, -1);
  for (size_t v = 0; v < property.values.size(); ++v) {
    const auto found = std::find(factor.values.begin(), factor.values.end(), property.values[v]);
    if (found != factor.values.end())
      components.masked_fill_(labels.eq(static_cast<int64_t>(v)), found - factor.values.begin());
  }
  return components;
}

void require_known_values(const Property& property, const FactorOptions& factor) {
  for (const std::string& value : property.values)
    if (std::find(factor.values.begin(), factor.values.end(), value) == factor.values.end())
      Attempt{fmt::format("comparing property '{}' with", factor.property),
              fmt::format("factor '{}'", factor.name)}
          .fail(fmt::format("the value '{}' in the data", value),
                fmt::format("one of the model's values: {}", fmt::join(factor.values, ", ")));
}

}  // namespace facet
