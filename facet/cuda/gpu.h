// What a GPU says of itself, and whether our kernels run on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// Whether this build can use a GPU and there is one.
bool available();

/// How many GPUs there are.
int64_t gpu_count();

/// What this thread does without naming a GPU, it does on this one.
void make_current(torch::Device device);

/// Waits for the GPU to finish all its work; the CPU has none waiting.
void synchronize(torch::Device device);

/// Whether our kernels run on `device`: a GPU of compute capability 8.0 (A100) or later, in a build
/// with kernels for it. Elsewhere LibTorch's own operations compute. The layers ops/, prior/ and
/// nets/ ask this and give everybody else one function for both.
bool kernels_available(torch::Device device);

/// Why they do not run on a GPU, as a sentence for its user; nothing where they do, and on a CPU.
std::optional<std::string> fallback_remark(torch::Device device);

/// While one lives, kernels_available() is false for all threads, as on an older GPU. Tests use it
/// to run LibTorch's own operations on a GPU that has kernels.
class WithoutKernels {
 public:
  WithoutKernels();
  ~WithoutKernels();
  WithoutKernels(const WithoutKernels&) = delete;
  WithoutKernels& operator=(const WithoutKernels&) = delete;
};

/// "NVIDIA H200".
std::string gpu_name(torch::Device device);

/// Its number among all GPUs anywhere, which two processes that share it see alike.
std::string gpu_identity(torch::Device device);

/// The most bytes of the GPU's memory that this program has held at a time.
int64_t peak_memory(torch::Device device);

}  // namespace facet::cuda
