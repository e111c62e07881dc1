// The three parts that a data set is divided into.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace facet {

enum class Split : uint8_t { train = 0, valid = 1, test = 2 };
inline const std::vector<std::string> split_names = {"train", "valid", "test"};
/// "train", "valid" or "test"; an Error for other words.
Split parse_split(const std::string& name);
std::vector<Split> parse_splits(const std::vector<std::string>& names);

}  // namespace facet
