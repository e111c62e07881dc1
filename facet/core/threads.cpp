#include "facet/core/threads.h"

#include <cstdlib>
#include <thread>

#include <ATen/Parallel.h>

namespace facet {

void use_all_processors() {
  const unsigned processors = std::thread::hardware_concurrency();
  if (std::getenv("OMP_NUM_THREADS") == nullptr && processors > 0)
    at::set_num_threads(static_cast<int>(processors));
}

}  // namespace facet
