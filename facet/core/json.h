// JSON values, for .cpp files that look into them. Headers name them through options.h, which only
// declares the type: the library's definition takes a compiler more than a second.
#pragma once

#include <nlohmann/json.hpp>

namespace facet {

/// Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

}  // namespace facet
