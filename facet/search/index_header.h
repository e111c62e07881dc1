// What the writer and the reader of an index share.
#pragma once

#include <filesystem>
#include <string>

namespace facet {

inline constexpr const char *kIndexFormat = "facet-index-1", *kSegmentFormat = "facet-segment-1";
inline constexpr const char* kIndexFile = "index.safetensors";

inline std::filesystem::path image_file(const std::filesystem::path& folder,
                                        const std::string& segment) {
  return folder / (segment + ".safetensors");
}
inline std::filesystem::path scan_file(const std::filesystem::path& folder,
                                       const std::string& segment) {
  return folder / (segment + ".scan.safetensors");
}

}  // namespace facet
