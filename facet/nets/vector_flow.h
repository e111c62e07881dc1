// The velocity of a flow of vectors, given other vectors: residual layers, each of which sees the
// time. The last layers of blocks and of the network start at zero, so that a new network gives
// zero and its flow moves nothing.
#pragma once

#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/nets/convolutional.h"

namespace facet {

class VectorFlow {
 public:
  /// For vectors of `dimensions` numbers, given vectors of `conditions` numbers.
  VectorFlow(int64_t dimensions, int64_t conditions, const Key& key);

  /// v at x [B, D] and times [B], given conditions [B, C]; float32.
  torch::Tensor velocity(const torch::Tensor& x, const torch::Tensor& conditions,
                         const torch::Tensor& times) const;

  /// "input.weight" to "output.bias", in the order of the layers.
  NamedTensors parameters() const;

 private:
  struct Block {
    LayerParameters hidden, time, output;
  };

  LayerParameters input_;
  std::vector<Block> blocks_;
  LayerParameters output_;
};

}  // namespace facet
