// The three splits of a data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace facet {

enum class Split : uint8_t { train = 0, valid = 1, test = 2 };
inline const std::vector<std::string> split_names = {"train", "valid", "test"};
/// "train", "valid" or "test"; throws an Error for other names.
Split parse_split(const std::string& name);
std::vector<Split> parse_splits(const std::vector<std::string>& names);

}  // namespace facet
