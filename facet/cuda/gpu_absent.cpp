// What stands in for gpu.cpp in builds without CUDA.
#include <stdexcept>

#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"

namespace facet::cuda {

bool available() { return at::hasCUDA(); }

void synchronize(torch::Device) {}

bool runs_kernels(torch::Device) { return true; }

std::string gpu_name(torch::Device) {
  throw std::logic_error("the name of a GPU, in a build without CUDA");
}

int64_t peak_memory(torch::Device) {
  throw std::logic_error("the memory of a GPU, in a build without CUDA");
}

}  // namespace facet::cuda
