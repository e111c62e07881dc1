// Whether files of ours still have the bytes that were written: every tensor is read and compared
// with its checksum (core/safetensors.h), and the metrics of a run with that in its state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace facet {

struct CheckedFile {
  std::filesystem::path path;
  std::string damage;  ///< one line; empty: the file is as it was written, as far as can be told
  bool has_checksums = false;  ///< false in files of version 0.1 and of other programs
  int64_t tensors = 0;
  uint64_t bytes = 0;
};

/// A file, all files that a `*` stands for, or every .safetensors file of a folder and its metrics.
/// Throws an Error if there is none.
std::vector<CheckedFile> check_files(const std::filesystem::path& path);

}  // namespace facet
