// The input as a file, for readers that take a path.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/temporary_folder.h"

namespace facet {

/// A file of this name with these bytes, in a folder that all inputs share.
inline std::filesystem::path input_file(const std::string& name, std::string_view bytes) {
  static const TemporaryFolder folder;
  const std::filesystem::path path = folder / name;
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::remove(path);  // a mapping of the last one stays whole
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace facet
