// What this process holds at the moment, to see that a server gives back what it took.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace facet {

/// What caches and pools may grow by under load. The thread sanitizer keeps several bytes for each.
#ifdef __SANITIZE_THREAD__
constexpr int64_t kGrowthKilobytes = 160000;
#else
constexpr int64_t kGrowthKilobytes = 40000;
#endif

inline int64_t resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  return 0;
}

inline int64_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

}  // namespace facet
