// Convolutions with TF32 operands; a file per type, so that the two compile side by side.
#include "facet/cuda/convolution_launch.cuh"

namespace facet::cuda {

template void gather<float, false>(const ConvolutionSizes&, const View&, const void*, const Finish&,
                                   const Workspace&, cudaStream_t);
template void gather<float, true>(const ConvolutionSizes&, const View&, const void*, const Finish&,
                                  const Workspace&, cudaStream_t);
template void weights<float>(const ConvolutionSizes&, const View&, const View&, float*, float*,
                             const Workspace&, cudaStream_t);

}  // namespace facet::cuda
