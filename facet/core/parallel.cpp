// LibTorch's parallel_for is a template that runs in one thread unless the file that calls it is
// compiled with OpenMP. This file is, and no other has to be.
#include "facet/core/parallel.h"

#include <ATen/Parallel.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace facet {

void parallel_for(int64_t count, const std::function<void(int64_t, int64_t)>& work) {
#ifdef __SANITIZE_THREAD__
  // The sanitizer does not see OpenMP's barriers: it is told that the threads begin after the
  // caller and end before it goes on.
  char begun = 0, ended = 0;
  __tsan_release(&begun);
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    __tsan_acquire(&begun);
    work(begin, end);
    __tsan_release(&ended);
  });
  __tsan_acquire(&ended);
#else
  at::parallel_for(0, count, 1, work);
#endif
}

}  // namespace facet
