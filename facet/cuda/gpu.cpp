#include "facet/cuda/gpu.h"

#include <atomic>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include "facet/core/torch.h"
#include "facet/cuda/kernel_target.h"

namespace facet::cuda {

namespace {

std::atomic<int> without_kernels = 0;

/// A device without a number is the current one.
GpuTraits traits_of(torch::Device device) {
  return gpu_traits(device.has_index() ? device.index() : c10::cuda::current_device());
}

}  // namespace

bool available() { return at::hasCUDA(); }

int64_t gpu_count() { return c10::cuda::device_count(); }

void make_current(torch::Device device) { c10::cuda::set_device(device.index()); }

void synchronize(torch::Device device) {
  if (!device.is_cuda()) return;
  const c10::cuda::CUDAGuard guard(device);
  c10::cuda::device_synchronize();
}

bool kernels_available(torch::Device device) {
  return device.is_cuda() && without_kernels == 0 && target_of(traits_of(device)).kernels;
}

std::optional<std::string> fallback_remark(torch::Device device) {
  if (!device.is_cuda() || kernels_available(device)) return {};
  return fallback_sentence(gpu_name(device), traits_of(device));
}

WithoutKernels::WithoutKernels() { ++without_kernels; }
WithoutKernels::~WithoutKernels() { --without_kernels; }

std::string gpu_name(torch::Device device) {
  return at::cuda::getDeviceProperties(device.index())->name;
}

std::string gpu_identity(torch::Device device) {
  const auto& identity = at::cuda::getDeviceProperties(device.index())->uuid;
  std::string text;
  for (const char byte : identity.bytes)
    for (const int digit : {(byte >> 4) & 15, byte & 15}) text += "0123456789abcdef"[digit];
  return text;
}

int64_t peak_memory(torch::Device device) {
  // The first entry counts all sizes of blocks.
  return c10::cuda::CUDACachingAllocator::getDeviceStats(device.index()).reserved_bytes[0].peak;
}

}  // namespace facet::cuda
