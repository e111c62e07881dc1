// What tests of training runs share: portraits to train on, and the comparison of files.
#pragma once

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/data/portraits.h"

namespace facet {

/// So many portraits of 16x16, made once.
inline const Pack& portraits(int64_t count) {
  static std::map<int64_t, Pack> packs;
  const auto found = packs.find(count);
  return found != packs.end() ? found->second
                              : packs.emplace(count, make_portraits({count, 16, 1})).first->second;
}

inline void expect_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  EXPECT_TRUE(read_text(one, "test") == read_text(other, "test"))
      << one << " and " << other << " differ";
}

}  // namespace facet
