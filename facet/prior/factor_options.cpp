#include "facet/prior/factor_options.h"

#include <charconv>

#include <fmt/format.h>

#include "facet/core/error.h"

namespace facet {

void FactorOptions::visit(OptionVisitor& visitor) {
  visitor.option("name", name, "Name of the factor in files, pictures and options.");
  visitor.option("components", components, "K, the number of components of the factor's mixture.",
                 at_least(1));
  visitor.option("dimensions", dimensions,
                 "D, the number of latent dimensions in the factor's block.", at_least(1));
  visitor.option("property", property,
                 "A labelled property of the data that names this factor; empty: a free factor.");
  visitor.option("values", values,
                 "Names of a named factor's components; training fills them in from the data.");
}

int64_t FactorOptions::component_of(const std::string& text) const {
  for (size_t k = 0; k < values.size(); ++k)
    if (values[k] == text) return static_cast<int64_t>(k);
  int64_t index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && end == text.data() + text.size() && index >= 0 && index < components)
    return index;
  throw Error({.doing = fmt::format("choosing a component of factor '{}'", name),
               .object = text,
               .found = "no component of this name",
               .expected = fmt::format("0 to {}{}", components - 1,
                                       values.empty() ? "" : " or the name of a value"),
               .cause = values.empty() ? "" : suggest(text, values)});
}

std::string FactorOptions::component_name(int64_t component) const {
  const auto index = static_cast<size_t>(component);
  return index < values.size() ? values[index] : std::to_string(component);
}

void Hyperprior::visit(OptionVisitor& visitor) {
  const Constraint positive = at_least(1e-9);
  visitor.option("m0", m0, "Prior mean of a component's mean.");
  visitor.option("s0", s0, "Weight of m0, as a number of images.", positive);
  visitor.option("a0", a0, "Shape of the precision's Gamma prior.", positive);
  visitor.option("b0", b0, "Rate of the precision's Gamma prior.", positive);
  visitor.option("c0", c0, "Dirichlet pseudo-count of every component.", positive);
  visitor.option("concentration", concentration,
                 "Concentration of stick-breaking weights: the larger, the more components.",
                 positive);
}

}  // namespace facet
