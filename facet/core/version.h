// The version of this build.
#pragma once

namespace facet {

/// "0.2.0".
const char* version();

}  // namespace facet
