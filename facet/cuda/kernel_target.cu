#include <atomic>
#include <cuda_runtime.h>
#include <map>
#include <mutex>

#include "facet/cuda/kernel_target.h"

namespace facet::cuda {

namespace {

/// Compiled for what all kernels of this library are compiled for.
__global__ void probe() {}

std::atomic<const KernelTarget*> limit = nullptr;

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, name, device) == cudaSuccess ? value : 0;
}

GpuTraits ask(int device) {
  GpuTraits gpu;
  gpu.version = 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                attribute(cudaDevAttrComputeCapabilityMinor, device);
  gpu.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  int current = device;
  cudaGetDevice(&current);
  if (current != device) cudaSetDevice(device);
  cudaFuncAttributes code{};
  // The version of the PTX is what __CUDA_ARCH__ was, also where the driver compiled it for a newer
  // GPU.
  if (cudaFuncGetAttributes(&code, probe) == cudaSuccess) gpu.compiled_for = code.ptxVersion;
  cudaGetLastError();  // a GPU without code is an answer, and no error of the next launch
  if (current != device) cudaSetDevice(current);
  return gpu;
}

}  // namespace

GpuTraits gpu_traits(int device) {
  static std::mutex mutex;
  static std::map<int, GpuTraits> gpus;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [entry, first] = gpus.try_emplace(device);
  if (first) entry->second = ask(device);
  return entry->second;
}

KernelTarget current_target() {
  int device = 0;
  cudaGetDevice(&device);
  const KernelTarget own = target_of(gpu_traits(device));
  const KernelTarget* const most = limit;
  return most ? common(own, *most) : own;
}

LimitedTarget::LimitedTarget(const KernelTarget& most) : most_(most) { limit = &most_; }
LimitedTarget::~LimitedTarget() { limit = nullptr; }

}  // namespace facet::cuda
