// A config that fits a data set, with the reasons as comments: a starting point for `facet init`.
#pragma once

#include <string>

#include "facet/data/pack.h"

namespace facet {

/// JSON with comments that read_config reads. `path` is the pack's; `gpu`: steps for a GPU, more
/// than a CPU takes in an evening.
std::string suggested_config(const Pack& pack, const std::string& path, bool gpu);

}  // namespace facet
