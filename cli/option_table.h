// The options of a config as a Markdown table, for `--describe-options`.
#pragma once

#include <vector>

#include "facet/core/options.h"

namespace facet {

void print_option_table(const std::vector<OptionDescription>& options);

}  // namespace facet
