// Without Boost there is no server.
#include "tests/fuzz/targets.h"

namespace facet {

std::vector<FuzzTarget> request_targets() { return {}; }

}  // namespace facet
