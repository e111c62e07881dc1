// What a GPU says of itself.
#pragma once

#include <cstdint>
#include <string>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// Whether there is a GPU that LibTorch can use.
bool available();

/// Waits for everything that was asked of a GPU; on the CPU nothing is ever pending.
void synchronize(torch::Device device);

/// Whether this build's kernels run on the GPU: they need compute capability 9.0 (H100, H200) or a
/// later one. True where a build has none, since LibTorch's own run anywhere.
bool runs_kernels(torch::Device device);

/// "NVIDIA H200".
std::string gpu_name(torch::Device device);

/// The most bytes of the GPU's memory that this program has held at a time.
int64_t peak_memory(torch::Device device);

}  // namespace facet::cuda
