// The options of the networks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/options.h"

namespace facet {

struct NetworkOptions {
  std::string preset = "small32";
  std::vector<int64_t> channels;
  std::vector<int64_t> strides;
  int64_t kernel = 3;

  void visit(OptionVisitor& visitor);
};

}  // namespace facet
