// Files that are cut while they are mapped: the next look at a byte that is gone is a SIGBUS. The
// program answers it with one line that names the file, instead of ending without a word.
#pragma once

#include <cstddef>
#include <filesystem>

namespace facet {

/// From now on a SIGBUS within a mapped file prints one line and ends the program with status 2.
void report_cut_files();

/// What MappedFile (core/file.h) says of its bytes.
void note_mapping(const void* data, size_t size, const std::filesystem::path& path);
void forget_mapping(const void* data);

}  // namespace facet
