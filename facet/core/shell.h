// Quoting for a shell.
#pragma once

#include <string>

namespace facet {

/// A word in quotes if a shell needs them.
std::string shell_quoted(const std::string& word);

}  // namespace facet
