// JSON values, for files that look into them. core/options.h is enough to hand them on.
#pragma once

#include <nlohmann/json.hpp>

namespace facet {

using Json = nlohmann::ordered_json;

}  // namespace facet
