// What stands in for gpu.cpp in builds without CUDA: they compute on the CPU, whatever LibTorch
// can.
#include <stdexcept>

#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"

namespace facet::cuda {

bool available() { return false; }

int64_t gpu_count() { return 0; }

void make_current(torch::Device) {}

void synchronize(torch::Device) {}

bool kernels_available(torch::Device) { return false; }

std::optional<std::string> fallback_remark(torch::Device) { return {}; }

WithoutKernels::WithoutKernels() = default;
WithoutKernels::~WithoutKernels() = default;

std::string gpu_name(torch::Device) {
  throw std::logic_error("the name of a GPU, in a build without CUDA");
}

std::string gpu_identity(torch::Device) {
  throw std::logic_error("the number of a GPU, in a build without CUDA");
}

int64_t peak_memory(torch::Device) {
  throw std::logic_error("the memory of a GPU, in a build without CUDA");
}

}  // namespace facet::cuda
