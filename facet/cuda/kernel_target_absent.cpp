// What stands in for kernel_target.cu in builds without CUDA: there is no GPU and no kernel, so
// that there is nothing to limit.
#include "facet/cuda/kernel_target.h"

namespace facet::cuda {

GpuTraits gpu_traits(int) { return {}; }

KernelTarget current_target() { return {}; }

LimitedTarget::LimitedTarget(const KernelTarget& most) : most_(most) {}
LimitedTarget::~LimitedTarget() = default;

}  // namespace facet::cuda
