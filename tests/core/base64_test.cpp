// Bytes as text: the examples of RFC 4648, and text that is none.
#include "facet/core/base64.h"

#include <gtest/gtest.h>

#include "facet/core/error.h"

namespace facet {
namespace {

TEST(Base64, ExamplesOfTheStandardBothWays) {
  const std::vector<std::pair<std::string, std::string>> examples = {{"", ""},
                                                                     {"f", "Zg=="},
                                                                     {"fo", "Zm8="},
                                                                     {"foo", "Zm9v"},
                                                                     {"foob", "Zm9vYg=="},
                                                                     {"fooba", "Zm9vYmE="},
                                                                     {"foobar", "Zm9vYmFy"},
                                                                     {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, OtherTextIsAnError) {
  for (const std::string text : {"Zg", "Zg=", "Z===", "====", "Zm9v\n", "Zm 9", "=m9v", "Zm9v="})
    EXPECT_THROW(from_base64(text), Error) << text;
}

}  // namespace
}  // namespace facet
