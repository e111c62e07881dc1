// The version of this build.
#pragma once

namespace facet {

/// Such as "0.2.0".
const char* version();

}  // namespace facet
