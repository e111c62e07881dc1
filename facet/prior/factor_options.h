// The options of the prior: the factors' names and sizes, and the hyperprior that their mixtures
// share.
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
  /// The name that the model was trained with, where people have given it another; no option.
  std::string original = {};

  bool named() const { return !property.empty(); }
  /// The component with the value `text`, or with the index `text`, counted from 0. Throws an Error
  /// with suggestions if there is none.
  int64_t component_of(const std::string& text) const;
  /// The name of a named factor's component, such as "with"; a free factor's index, such as "3",
  /// unless people have named it.
  std::string component_name(int64_t component) const;

  void visit(OptionVisitor& visitor);
};

/// The parameters of the priors on a component's mean and precision and on the weights, which all
/// factors start with (prior/hyperprior.h).
struct Hyperprior {
  double m0 = 0.0;
  double s0 = 1.0;
  double a0 = 0.01;
  double b0 = 0.01;
  double c0 = 1.0;
  double concentration = 10.0;

  void visit(OptionVisitor& visitor);
};

}  // namespace facet
