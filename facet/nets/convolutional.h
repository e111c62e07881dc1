// Encoder and decoder networks: a stack of convolutions with ReLU and a linear layer, and its
// mirror image, in which a stride becomes a transposed convolution. The paper's two networks are
// presets of this one family.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "facet/core/options.h"
#include "facet/core/random.h"
#include "facet/cuda/stack.h"
#include "facet/data/pack.h"

namespace facet {

struct NetworkOptions {
  std::string preset = "small32";
  std::vector<int64_t> channels;
  std::vector<int64_t> strides;
  int64_t kernel = 3;

  void visit(OptionVisitor& visitor);
};

/// One convolution of the encoder; the decoder has one for each, backwards.
struct ConvolutionLayer {
  int64_t channels_in, channels_out, stride, kernel;
  int64_t height_in, width_in, height_out, width_out;
};

/// Gives the bfloat16 copy of a parameter; empty where a network computes in TF32.
using Shadows = std::function<torch::Tensor(const torch::Tensor&)>;

/// The encoder's convolutions for images of a shape. An Error where channels and strides do not
/// match or a layer would leave no pixel.
std::vector<ConvolutionLayer> convolution_layers(const NetworkOptions& options,
                                                 const ImageShape& shape);

/// Images [B, C, H, W] to `outputs` numbers each, [B, outputs].
class EncoderImpl : public torch::nn::Module {
 public:
  EncoderImpl(const std::vector<ConvolutionLayer>& layers, int64_t outputs, const Key& key);
  torch::Tensor forward(torch::Tensor images);
  /// From now on the kernels of cuda/stack.h compute it, on parameters as they lie now.
  void accelerate(const Shadows& shadows);
  cuda::Stack* stack() { return stack_.get(); }

 private:
  std::vector<ConvolutionLayer> shapes_;
  std::vector<torch::nn::Conv2d> convolutions_;
  torch::nn::Linear head_{nullptr};
  std::shared_ptr<cuda::Stack> stack_;
};
TORCH_MODULE(Encoder);

/// Latent vectors [B, Z] to `channels` numbers a pixel, [B, channels, H, W].
class DecoderImpl : public torch::nn::Module {
 public:
  DecoderImpl(const std::vector<ConvolutionLayer>& layers, int64_t latents, int64_t channels,
              const Key& key);
  torch::Tensor forward(const torch::Tensor& latents);
  void accelerate(const Shadows& shadows);
  cuda::Stack* stack() { return stack_.get(); }

 private:
  struct Layer {
    torch::nn::Conv2d plain{nullptr};
    torch::nn::ConvTranspose2d transposed{nullptr};
    int64_t height, width;  ///< of the output
    torch::Tensor forward(const torch::Tensor& x);
  };
  torch::nn::Linear stem_{nullptr};
  std::vector<Layer> layers_;
  std::vector<int64_t> stem_shape_;
  std::shared_ptr<cuda::Stack> stack_;
};
TORCH_MODULE(Decoder);

}  // namespace facet
