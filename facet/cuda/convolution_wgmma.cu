// The largest bfloat16 tiles, by the warpgroup instructions: a file of its own, since only sm_90a
// has them.
#include "facet/cuda/convolution_wgmma.cuh"

namespace facet::cuda {

bool has_warpgroups() { return current_target().warpgroups; }

template <bool Transposed>
void warpgroup_gather(const GatherProblem& problem, cudaStream_t stream, SplitSum split_sum) {
  launch_gather<__nv_bfloat16, WarpgroupTile, Transposed, Loads::aligned>(problem, stream,
                                                                          split_sum);
}
template void warpgroup_gather<false>(const GatherProblem&, cudaStream_t, SplitSum);
template void warpgroup_gather<true>(const GatherProblem&, cudaStream_t, SplitSum);

void warpgroup_weights(const WeightProblem& problem, cudaStream_t stream, SplitSum split_sum) {
  launch_weights<__nv_bfloat16, WarpgroupTile, Loads::aligned>(problem, stream, split_sum);
}

}  // namespace facet::cuda
