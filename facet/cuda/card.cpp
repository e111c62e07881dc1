#include "facet/cuda/card.h"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>

namespace facet::cuda {

bool runs_kernels(torch::Device device) {
  return at::cuda::getDeviceProperties(device.index())->major >= 9;
}

std::string card_name(torch::Device device) {
  return at::cuda::getDeviceProperties(device.index())->name;
}

int64_t peak_memory(torch::Device device) {
  // The first entry counts all sizes of blocks.
  return c10::cuda::CUDACachingAllocator::getDeviceStats(device.index()).reserved_bytes[0].peak;
}

}  // namespace facet::cuda
