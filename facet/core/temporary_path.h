// The names of temporary files: what is written and then renamed or linked into place. They carry
// their process, so that remove_left_overs() (core/file.h) knows those of processes that are gone.
#pragma once

#include <filesystem>

namespace facet {

/// Beside `path`; another one for every process.
std::filesystem::path temporary_path(const std::filesystem::path& path);

}  // namespace facet
