// What a card says of itself, for measurements.
#pragma once

#include <cstdint>
#include <string>

#include <torch/torch.h>

namespace facet::cuda {

/// "NVIDIA H200".
std::string card_name(torch::Device device);

/// The most bytes of the card's memory that this program has held at a time.
int64_t peak_memory(torch::Device device);

}  // namespace facet::cuda
