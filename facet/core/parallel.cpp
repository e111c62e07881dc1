// LibTorch's parallel_for is a template that runs in one thread unless the file that calls it is
// compiled with OpenMP. This file is, and no other has to be.
#include "facet/core/parallel.h"

#include <ATen/Parallel.h>

namespace facet {

void parallel_for(int64_t count, const std::function<void(int64_t, int64_t)>& work) {
  at::parallel_for(0, count, 1, work);
}

}  // namespace facet
