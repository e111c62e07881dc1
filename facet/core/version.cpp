#include "facet/core/version.h"

namespace facet {

const char* version() { return FACET_VERSION; }

}  // namespace facet
