#include "facet/nets/vector_flow.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/nets/time_features.h"

namespace facet {

namespace {

/// The width of the network, but at least twice the dimensions; few of them need less.
constexpr int64_t usual_width = 256, width_per_dimension = 16;
constexpr uint64_t flow_blocks = 3;

/// Its outputs have the variance of its inputs, or are zero.
LayerParameters flow_layer(int64_t in, int64_t out, const Key& key, bool zero = false) {
  const double stddev = zero ? 0.0 : std::sqrt(1.0 / static_cast<double>(in));
  return {(standard_normal(key, {out, in}, kFloat32) * stddev).requires_grad_(),
          torch::zeros({out}, kFloat32).requires_grad_()};
}

torch::Tensor flow_output(const LayerParameters& layer, const torch::Tensor& x) {
  return torch::linear(x, layer.weight, layer.bias);
}

}  // namespace

VectorFlow::VectorFlow(int64_t dimensions, int64_t conditions, const Key& key) {
  const int64_t width =
      std::max(std::min(usual_width, width_per_dimension * dimensions), 2 * dimensions);
  input_ = flow_layer(dimensions + conditions, width, key.fold("input"));
  for (uint64_t n = 0; n < flow_blocks; ++n) {
    const Key own = key.fold("block").fold(n);
    blocks_.push_back({flow_layer(width, width, own.fold("hidden")),
                       flow_layer(kTimeFeatures, width, own.fold("time")),
                       flow_layer(width, width, own.fold("output"), /*zero=*/true)});
  }
  output_ = flow_layer(width, dimensions, key.fold("output"), /*zero=*/true);
}

torch::Tensor VectorFlow::velocity(const torch::Tensor& x, const torch::Tensor& conditions,
                                   const torch::Tensor& times) const {
  const torch::Tensor time = time_features(times);
  const auto normalised = [](const torch::Tensor& h) { return torch::layer_norm(h, {h.size(1)}); };
  torch::Tensor h = flow_output(input_, torch::cat({x, conditions}, 1));
  for (const Block& block : blocks_)
    h = h + flow_output(block.output, torch::silu(flow_output(block.hidden, normalised(h)) +
                                                  flow_output(block.time, time)));
  return flow_output(output_, normalised(h));
}

NamedTensors VectorFlow::parameters() const {
  NamedTensors tensors;
  const auto add = [&](const std::string& name, const LayerParameters& layer) {
    tensors.emplace_back(name + ".weight", layer.weight);
    tensors.emplace_back(name + ".bias", layer.bias);
  };
  add("input", input_);
  for (size_t n = 0; n < blocks_.size(); ++n) {
    add(fmt::format("block{}.hidden", n), blocks_[n].hidden);
    add(fmt::format("block{}.time", n), blocks_[n].time);
    add(fmt::format("block{}.output", n), blocks_[n].output);
  }
  add("output", output_);
  return tensors;
}

}  // namespace facet
