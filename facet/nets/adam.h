// Adam over one flat buffer. All parameters of a model become views of one tensor, and so do their
// gradients: a step, the gradient's norm and a checkpoint are then a handful of operations whatever
// the number of layers.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/nets/adam_options.h"

namespace facet {

/// Running means of the gradient and of its square, flat.
struct AdamMoments {
  torch::Tensor first, second;
};

/// One Adam step of flat `parameters` in place. `step` (int64, counted from 1) and `learning_rate`
/// (float64) are numbers on their device, and on a GPU they stay there.
void adam_update(torch::Tensor parameters, const torch::Tensor& gradients, AdamMoments& moments,
                 const torch::Tensor& step, const torch::Tensor& learning_rate,
                 const AdamOptions& options);

class Adam {
 public:
  /// Makes the parameters, which must be on their device already, views of its buffer. On a GPU the
  /// weights of convolutions lie channels-last, and with `bf16_copies` each has a bfloat16 copy.
  Adam(const NamedTensors& parameters, const AdamOptions& options, bool bf16_copies = false);

  void zero_gradients() { gradients_.zero_(); }
  /// Length of the whole gradient, a scalar on the device.
  torch::Tensor gradient_norm() const;
  /// A stretch of the flat buffers.
  struct Range {
    int64_t begin, end;
  };
  /// Where some of the parameters lie, which follow each other.
  Range range_of(const NamedTensors& part) const;
  /// Begins a step: every range is then moved once, in any order, on any stream. A gradient longer
  /// than clip_grad_norm is scaled down to it; `norm` is gradient_norm(), and is not used where
  /// that is 0.
  void begin_step() { steps_ += 1; }
  /// Weight decay is for weights: without `decays` there is none.
  void move(const Range& range, const torch::Tensor& learning_rate, const torch::Tensor& norm,
            bool decays = true);
  bool clips() const { return options_.clip_grad_norm > 0; }

  /// For checkpoints: steps taken and the running moments, flat.
  int64_t steps() const { return steps_.item<int64_t>(); }
  AdamMoments moments() const { return {in_order(moments_.first), in_order(moments_.second)}; }
  /// Starts anew, after parameters were changed from outside.
  void reset();
  void restore(int64_t steps, const AdamMoments& moments);

  /// All parameters, flat; and a buffer that lies like them parameter after parameter in the order
  /// given to the constructor, as files have it, and back.
  const torch::Tensor& parameters() const { return parameters_; }
  torch::Tensor in_order(const torch::Tensor& flat) const;
  void from_order(const torch::Tensor& flat, const torch::Tensor& ordered) const;
  /// After parameters were changed from outside.
  void refresh_bf16_copies();

  /// The bfloat16 copy of a parameter, flat, in the order in which it lies.
  torch::Tensor bf16_copy_of(const torch::Tensor& parameter) const;

 private:
  AdamOptions options_;
  /// Where a parameter lies in the flat buffers.
  struct ParameterSlice {
    int64_t offset;
    std::vector<int64_t> shape;
    bool channels_last;

    torch::Tensor view(const torch::Tensor& flat) const;
  };
  std::vector<ParameterSlice> slices_;
  torch::Tensor parameters_, gradients_;
  torch::Tensor bf16_copies_;  ///< undefined where none are wanted
  AdamMoments moments_;
  torch::Tensor steps_;  ///< int64, one number on the device
};

}  // namespace facet
