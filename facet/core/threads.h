// How many threads LibTorch computes with on the CPU. By default it counts physical cores, which is
// one on machines (often virtual ones) that report all their processors as threads of one core.
#pragma once

namespace facet {

/// One thread for every processor, unless the environment sets OMP_NUM_THREADS.
void use_all_processors();

}  // namespace facet
