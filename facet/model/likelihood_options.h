// The options of the distribution of pixels.
#pragma once

#include <string>

#include "facet/core/options.h"

namespace facet {

struct LikelihoodOptions {
  std::string kind = "bernoulli";
  double minimum_stddev = 0.001;
  double maximum_stddev = 0.4;

  void visit(OptionVisitor& visitor);
};

}  // namespace facet
