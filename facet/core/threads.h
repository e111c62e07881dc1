// How many threads LibTorch computes with on the CPU. Left alone it counts physical cores and takes
// one thread on machines, many virtual ones among them, that report theirs as threads of one core.
#pragma once

namespace facet {

/// One thread for every processor, unless the environment sets OMP_NUM_THREADS.
void use_all_processors();

}  // namespace facet
