// The options of the built-in portraits.
#pragma once

#include <cstdint>

#include "facet/core/options.h"

namespace facet {

struct PortraitSetOptions {
  int64_t count = 12000;
  int64_t size = 32;
  int64_t seed = 1;

  void visit(OptionVisitor& visitor);
};

}  // namespace facet
