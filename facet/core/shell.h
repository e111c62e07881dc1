// Words for a shell.
#pragma once

#include <string>

namespace facet {

/// A word as a shell takes it: in quotes where need be.
std::string shell_quoted(const std::string& word);

}  // namespace facet
