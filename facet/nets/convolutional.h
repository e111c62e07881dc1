// Encoder and decoder networks: a stack of convolutions with ReLU and a linear layer, and its
// mirror image, in which a stride becomes a transposed convolution. The paper's two networks are
// presets of this one family.
#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

#include "facet/core/options.h"
#include "facet/core/random.h"
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

/// The encoder's convolutions for images of a shape. An Error where channels and strides do not
/// match or a layer would leave no pixel.
std::vector<ConvolutionLayer> convolution_layers(const NetworkOptions& options,
                                                 const ImageShape& shape);

/// Images [B, C, H, W] to `outputs` numbers each, [B, outputs].
class EncoderImpl : public torch::nn::Module {
 public:
  EncoderImpl(const std::vector<ConvolutionLayer>& layers, int64_t outputs, const Key& key);
  torch::Tensor forward(torch::Tensor images);

 private:
  std::vector<torch::nn::Conv2d> convolutions_;
  torch::nn::Linear head_{nullptr};
};
TORCH_MODULE(Encoder);

/// Latent vectors [B, Z] to `channels` numbers a pixel, [B, channels, H, W].
class DecoderImpl : public torch::nn::Module {
 public:
  DecoderImpl(const std::vector<ConvolutionLayer>& layers, int64_t latents, int64_t channels,
              const Key& key);
  torch::Tensor forward(const torch::Tensor& latents);

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
};
TORCH_MODULE(Decoder);

}  // namespace facet
