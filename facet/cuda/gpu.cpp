#include "facet/cuda/gpu.h"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include "facet/core/torch.h"

namespace facet::cuda {

bool available() { return at::hasCUDA(); }

void synchronize(torch::Device device) {
  if (!device.is_cuda()) return;
  const c10::cuda::CUDAGuard guard(device);
  c10::cuda::device_synchronize();
}

bool runs_kernels(torch::Device device) {
  return at::cuda::getDeviceProperties(device.index())->major >= 9;
}

std::string gpu_name(torch::Device device) {
  return at::cuda::getDeviceProperties(device.index())->name;
}

int64_t peak_memory(torch::Device device) {
  // The first entry counts all sizes of blocks.
  return c10::cuda::CUDACachingAllocator::getDeviceStats(device.index()).reserved_bytes[0].peak;
}

}  // namespace facet::cuda
