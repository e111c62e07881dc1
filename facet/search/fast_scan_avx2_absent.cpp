// Stands in for the scan with AVX2 on processors of another kind.
#include "facet/search/fast_scan.h"

namespace facet {

BlockSearch find_block_avx2() { return nullptr; }

}  // namespace facet
