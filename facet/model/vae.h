// The model: an encoder q(z|x), a decoder with a likelihood p(x|z), and the factorial mixture prior
// on z. Networks are float32 (or what the caller casts them to), the prior float64.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "facet/core/options.h"
#include "facet/core/random.h"
#include "facet/data/pack.h"
#include "facet/model/likelihood.h"
#include "facet/nets/convolutional.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/prior/untangle.h"

namespace facet {

struct ModelOptions {
  LikelihoodOptions likelihood;
  NetworkOptions network;
  std::vector<FactorOptions> factors = {FactorOptions{}};
  std::string prior = "mixture";
  Hyperprior hyperprior;

  /// Whether q(xi) is learned, by natural gradients; else the prior is one to compare with.
  bool bayesian() const { return prior == "mixture"; }

  void visit(OptionVisitor& visitor);
};

/// q(z|x) = N(mean, diag exp(log_variance)), [B, Z] each.
struct Encoding {
  torch::Tensor mean, log_variance;

  torch::Tensor variance() const { return torch::exp(log_variance); }
  /// z = mean + sigma * noise, which gradients flow through.
  torch::Tensor sample(const Key& key) const;
};

/// The images whose encodings are the components of a VampPrior (Tomczak and Welling, 2018).
class PseudoInputsImpl : public torch::nn::Module {
 public:
  PseudoInputsImpl(int64_t count, const ImageShape& shape);
  /// Pixels from 0 to 255, float32 [K, C, H, W], which gradients flow through.
  torch::Tensor pixels() const;
  /// Starts near these images, U8 [K, C, H, W].
  void start_at(const torch::Tensor& images);

 private:
  torch::Tensor logits_;
};
TORCH_MODULE(PseudoInputs);

class Vae : public torch::nn::Module {
 public:
  Vae(const ModelOptions& options, const ImageShape& shape, const Key& key);

  /// x in the likelihood's units, [B, C, H, W].
  Encoding encode(const torch::Tensor& x);
  /// The encoding and a draw z from it, [B, Z]: encode() and sample() in one.
  std::pair<Encoding, torch::Tensor> encode_and_sample(const torch::Tensor& x, const Key& noise);
  /// z [B, Z] of any float type to the decoder's output.
  torch::Tensor decode(const torch::Tensor& z);

  /// Defined for the prior "vamp" alone.
  PseudoInputs& pseudo_inputs() { return pseudo_inputs_; }
  /// The components that pseudo-inputs make with the present encoder; gradients flow to both.
  FactorParameters pseudo_components();

  const torch::nn::Module& encoder() const { return *encoder_; }
  const torch::nn::Module& decoder() const { return *decoder_; }
  const ModelOptions& options() const { return options_; }
  const ImageShape& shape() const { return shape_; }
  const Likelihood& likelihood() const { return *likelihood_; }
  torch::Device device();
  /// Networks and prior alike.
  void move_to(torch::Device device);
  int64_t network_parameters() const;

  /// From now on the kernels of cuda/stack.h run the networks, on parameters as they lie now, whose
  /// gradients are defined. Where `shadows` is empty they compute in TF32, else in bfloat16.
  void accelerate(const Shadows& shadows);
  bool accelerated() { return encoder_->stack() != nullptr; }
  /// Around the backward pass of an accelerated model: the first one after `begin` writes the
  /// parameters' gradients, others add to them, and after `finish` they are there.
  void begin_gradients();
  void finish_gradients();

  /// Makes z' = transform (z - centre) the model's latent vector. What the decoder gives for a
  /// point stays the same, the encoder's mean moves along; its log variance becomes the given one
  /// [Z] for every image, to be learned again.
  void change_coordinates(const Coordinates& coordinates, const torch::Tensor& log_variance);

  FactorialMixture prior;

 private:
  ModelOptions options_;
  ImageShape shape_;
  std::unique_ptr<Likelihood> likelihood_;
  Encoder encoder_{nullptr};
  Decoder decoder_{nullptr};
  PseudoInputs pseudo_inputs_{nullptr};
};

/// A draw of the whole latent vector with the components that made it.
struct LatentSample {
  torch::Tensor z;           ///< float64 [count, Z]
  torch::Tensor components;  ///< int64 [count, I]
};

/// Ancestral sampling of z: a component of every factor from E[pi], then the block from the
/// component's Student-t predictive (eq:z-t-dist). `fixed[i]` >= 0 holds factor i at a component;
/// an empty list holds none.
LatentSample sample_latents(const Key& key, const FactorialMixture& prior, int64_t count,
                            const std::vector<int64_t>& fixed = {});

}  // namespace facet
