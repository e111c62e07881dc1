// The file that `facet init` writes.
#pragma once

#include <filesystem>
#include <string>

namespace facet {

/// A config for a pack (train/suggested_config.h) in a new file. Throws an Error if the file exists
/// or the pack has no training image. `device`: "auto", "cpu" or "cuda".
void write_initial_config(const std::string& pack, const std::filesystem::path& output,
                          const std::string& device);

}  // namespace facet
