// What a file or a folder of ours is, in a few lines for a person.
#pragma once

#include <string>

namespace facet {

/// A run folder, a pack, a model file or a training state.
std::string describe(const std::string& path);

}  // namespace facet
