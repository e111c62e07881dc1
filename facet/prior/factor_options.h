// What a config says about the prior: the factors with their names and sizes, and the hyperprior
// that their mixtures share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/options.h"

namespace facet {

/// A factor's name and size.
struct FactorOptions {
  std::string name = "factor";
  int64_t components = 64;
  int64_t dimensions = 64;
  std::string property;
  std::vector<std::string> values;

  bool named() const { return !property.empty(); }
  /// The component that a value's name or an index from 0 stands for; an Error with near matches
  /// where there is none.
  int64_t component_of(const std::string& text) const;
  /// "with" for a named factor's component, "3" for a free one's.
  std::string component_name(int64_t component) const;

  void visit(OptionVisitor& visitor);
};

/// The fixed parameters of the priors on a component's mean and precision and on the weights.
struct Hyperprior {
  double m0 = 0.0;
  double s0 = 1.0;
  double a0 = 0.01;
  double b0 = 0.01;
  double c0 = 1.0;

  void visit(OptionVisitor& visitor);
};

}  // namespace facet
