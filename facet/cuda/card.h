// What a card says of itself.
#pragma once

#include <cstdint>
#include <string>

#include <torch/torch.h>

namespace facet::cuda {

/// Whether this build's kernels run on the card: they need compute capability 9.0 (H100, H200) or a
/// later one. True where a build has none, since LibTorch's own run anywhere.
bool runs_kernels(torch::Device device);

/// "NVIDIA H200".
std::string card_name(torch::Device device);

/// The most bytes of the card's memory that this program has held at a time.
int64_t peak_memory(torch::Device device);

}  // namespace facet::cuda
