// What a text has in it, such as an error message the name of a file.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace facet {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// How often the part is in the text.
inline size_t count_of(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

/// The text has every part.
inline void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_TRUE(contains(text, part)) << text << "\n  lacks " << part;
}

}  // namespace facet
