// JSON values, for files that read or build them. core/options.h is enough to pass them on.
#pragma once

#include <nlohmann/json.hpp>

namespace facet {

/// Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

}  // namespace facet
