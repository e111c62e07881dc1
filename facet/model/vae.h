// The model: an encoder q(z|x), a decoder with a likelihood p(x|z), and the factorial mixture prior
// on z. Networks are float32 unless the caller casts them, the prior is float64.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/pack.h"
#include "facet/model/likelihood.h"
#include "facet/model/model_options.h"
#include "facet/model/prior_strategy.h"
#include "facet/nets/convolutional.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/prior/untangle.h"

namespace facet {

/// q(z|x) = N(mean, diag exp(log_variance)), [B, Z] each.
struct Encoding {
  torch::Tensor mean, log_variance;

  torch::Tensor variance() const;
  torch::Tensor entropy() const;  ///< of q(z|x), float64 [B]
  /// z = mean + sigma * noise, [B, Z]; gradients flow through it.
  torch::Tensor sample(const Key& key) const;
};

class Vae {
 public:
  /// The encoder's log variances are clamped to these: normal training never reaches them, and a
  /// bad batch cannot overflow.
  static constexpr double smallest_log_variance = -12, largest_log_variance = 8;

  Vae(const ModelOptions& options, const ImageShape& shape, const Key& key);
  Vae(Vae&&) = default;

  /// The encoding of x [B, C, H, W], which is in the likelihood's units.
  Encoding encode(const torch::Tensor& x) const;
  /// The encoding and a draw z from it, [B, Z]: encode() and sample() in one call.
  std::pair<Encoding, torch::Tensor> encode_and_sample(const torch::Tensor& x,
                                                       const Key& noise) const;
  /// The decoder's output for z [B, Z] of any floating-point type.
  torch::Tensor decode(const torch::Tensor& z) const;

  /// The parts of training that depend on the kind of prior.
  PriorStrategy& strategy() { return *strategy_; }
  const PriorStrategy& strategy() const { return *strategy_; }

  const Encoder& encoder() const { return encoder_; }
  const Decoder& decoder() const { return decoder_; }
  /// All trained parameters, with names such as "encoder.head.weight", in the order of the file.
  NamedTensors parameters() const;
  const ModelOptions& options() const { return options_; }
  const ImageShape& shape() const { return shape_; }
  const Likelihood& likelihood() const { return *likelihood_; }
  torch::Device device() const;
  /// Moves networks and prior to a device.
  void move_to(torch::Device device);
  int64_t network_parameters() const;
  /// The images that evaluations and pictures put through the networks at once: `most`, or fewer if
  /// their layers are so large that one would take more than `bytes`.
  int64_t images_at_once(int64_t most, int64_t bytes = int64_t{1} << 29) const;

  /// From now on the kernels of cuda/stack.h run the networks, on the parameters' current memory;
  /// their gradients must be defined. They compute in TF32 if `bf16_copies` is empty, otherwise in
  /// bfloat16. Does nothing where our kernels do not run on the model's device.
  void accelerate(const Bf16Copies& bf16_copies);
  bool accelerated() const { return encoder_.stack() != nullptr; }
  /// Around the backward passes of an accelerated model: the first pass after begin_gradients()
  /// overwrites the parameters' gradients, further ones add to them; they are complete after
  /// finish_gradients().
  void begin_gradients();
  void finish_gradients();

  /// Makes z' = transform (z - centre) the model's latent vector. The decoder's output for a point
  /// stays the same, and the encoder's mean is transformed. The encoder's log variance becomes the
  /// given one, [Z], for every image, and has to be learned again.
  void change_coordinates(const Coordinates& coordinates, const torch::Tensor& log_variance);

  FactorialMixture prior;

 private:
  ModelOptions options_;
  ImageShape shape_;
  std::unique_ptr<Likelihood> likelihood_;
  Encoder encoder_;
  Decoder decoder_;
  std::unique_ptr<PriorStrategy> strategy_;
};

}  // namespace facet
