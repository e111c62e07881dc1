// Adam on one flat buffer. All parameters of a model become views of one tensor, and so do their
// gradients: a step, the gradient's norm and a checkpoint are then a handful of operations,
// regardless of the number of layers.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/nets/adam_options.h"

namespace facet {

/// Running means of the gradient and of its square, [number of parameters] each.
struct AdamMoments {
  torch::Tensor first, second;
};

/// One Adam step of flat `parameters` in place, without clipping. `step` (int64, counted from 1)
/// and `learning_rate` (float64) are scalars on the parameters' device; on a GPU they are not
/// copied to the host.
void adam_update(const torch::Tensor& parameters, const torch::Tensor& gradients,
                 const AdamMoments& moments, const torch::Tensor& step,
                 const torch::Tensor& learning_rate, const AdamOptions& options);

class Adam {
 public:
  /// Makes the parameters, which must already be on their device, views of its buffer. On a GPU,
  /// the weights of convolutions are stored channels-last.
  Adam(const NamedTensors& parameters, const AdamOptions& options);

  void zero_gradients() { gradients_.zero_(); }
  /// The norm of the gradient of all parameters, a scalar on the device.
  torch::Tensor gradient_norm() const;
  /// A range of the flat buffers.
  struct Range {
    int64_t begin, end;
  };
  /// The range of some of the parameters, which must be consecutive.
  Range range_of(const NamedTensors& part) const;
  /// Begins a step, in which every range is then updated once, in any order, on any stream.
  void begin_step() { steps_ += 1; }
  /// Updates a range. `norm` is gradient_norm(): a larger one than clip_grad_norm is clipped to it;
  /// it is unused if clip_grad_norm is 0. Weight decay applies only if `decay` is set.
  void update(const Range& range, const torch::Tensor& learning_rate, const torch::Tensor& norm,
              bool decay = true);
  bool clips() const { return options_.clip_grad_norm > 0; }

  /// For checkpoints: the number of steps and the moments, in the order of in_order().
  int64_t steps() const { return steps_.item<int64_t>(); }
  AdamMoments moments() const { return {in_order(moments_.first), in_order(moments_.second)}; }
  /// Zeroes steps and moments, after parameters were changed from outside.
  void reset();
  void restore(int64_t steps, const AdamMoments& moments);

  /// The gradients of all parameters, flat.
  torch::Tensor& gradients() { return gradients_; }
  /// All parameters, flat.
  const torch::Tensor& parameters() const { return parameters_; }
  /// A flat buffer like parameters() with every parameter in row-major order, as files have it.
  torch::Tensor in_order(const torch::Tensor& flat) const;
  /// The inverse: fills `flat` from `ordered`.
  void from_order(const torch::Tensor& flat, const torch::Tensor& ordered) const;
  /// Call after parameters were changed from outside.
  void refresh_bf16_copies();

  /// The bfloat16 copy of a parameter, flat, in the parameter's memory order. The first call makes
  /// copies of all parameters; from then on every step updates them.
  torch::Tensor bf16_copy_of(const torch::Tensor& parameter);

 private:
  AdamOptions options_;
  /// The place of one parameter in the flat buffers.
  struct ParameterSlice {
    int64_t offset;
    std::vector<int64_t> shape;
    bool channels_last;

    torch::Tensor view(const torch::Tensor& flat) const;
  };
  std::vector<ParameterSlice> slices_;
  torch::Tensor parameters_, gradients_;
  torch::Tensor bf16_copies_;  ///< flat; undefined until the first bf16_copy_of()
  AdamMoments moments_;
  torch::Tensor steps_;  ///< an int64 scalar on the device
};

}  // namespace facet
