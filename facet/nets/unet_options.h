// The options of a U-Net.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/options.h"

namespace facet {

struct UnetOptions {
  std::string preset = "auto";
  int64_t width = 0;
  std::vector<int64_t> multipliers;
  int64_t blocks = 0;
  int64_t attention = 0;
  int64_t patch = 1;

  void visit(OptionVisitor& visitor);
};

}  // namespace facet
