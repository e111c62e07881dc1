// What stands in for convolution_wgmma.cu in builds without code for compute capability 9.0, where
// has_warpgroups() is false and nobody calls the rest.
#include <stdexcept>

#include "facet/cuda/convolution_launch.cuh"

namespace facet::cuda {

namespace {

[[noreturn]] void fail() {
  throw std::logic_error("warpgroup instructions, in a build without code for them");
}

}  // namespace

bool has_warpgroups() { return false; }

template <bool Transposed>
void warpgroup_gather(const GatherProblem&, cudaStream_t, SplitSum) {
  fail();
}
template void warpgroup_gather<false>(const GatherProblem&, cudaStream_t, SplitSum);
template void warpgroup_gather<true>(const GatherProblem&, cudaStream_t, SplitSum);

void warpgroup_weights(const WeightProblem&, cudaStream_t, SplitSum) { fail(); }

}  // namespace facet::cuda
