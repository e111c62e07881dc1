// What stands in for card.cpp in builds without CUDA.
#include <stdexcept>

#include "facet/cuda/card.h"

namespace facet::cuda {

bool runs_kernels(torch::Device) { return true; }

std::string card_name(torch::Device) {
  throw std::logic_error("the name of a card, in a build without CUDA");
}

int64_t peak_memory(torch::Device) {
  throw std::logic_error("the memory of a card, in a build without CUDA");
}

}  // namespace facet::cuda
