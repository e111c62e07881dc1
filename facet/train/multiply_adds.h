// The rate of multiply-adds that the processor reaches in a loop of nothing else: no program is
// faster.
#pragma once

namespace facet {

/// float32 operations per second on all threads that LibTorch uses; a multiplication with an
/// addition counts as two. Takes about a tenth of a second.
double multiply_add_rate();

}  // namespace facet
