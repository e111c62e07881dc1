#include "cli/option_table.h"

#include <fmt/format.h>

namespace facet {

void print_option_table(const std::vector<OptionDescription>& options) {
  fmt::print("| option | default | allowed | meaning |\n|---|---|---|---|\n");
  for (const OptionDescription& option : options) {
    const bool group = option.type.find("group") != std::string::npos;
    const std::string allowed = group ? "" : option.allowed.empty() ? option.type : option.allowed;
    fmt::print("| `{}` | {} | {} | {}{}{} |\n", option.key,
               group ? "" : fmt::format("`{}`", option.default_value), allowed, group ? "**" : "",
               option.help, group ? "**" : "");
  }
}

}  // namespace facet
