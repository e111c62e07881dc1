// Encoder and decoder networks. The encoder is a stack of convolutions with ReLU and a linear
// layer; the decoder is its mirror image, with transposed convolutions in place of strided ones.
// The paper's two networks are presets of this family.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/cuda/stack.h"
#include "facet/data/pack.h"
#include "facet/nets/network_options.h"

namespace facet {

/// One convolution of the encoder; the decoder has the same ones in reverse.
struct ConvolutionLayer {
  int64_t channels_in, channels_out, stride, kernel;
  int64_t height_in, width_in, height_out, width_out;

  int64_t padding() const;  ///< on every side
};

/// Gives the bfloat16 copy of a parameter; empty if the network computes in TF32.
using Bf16Copies = std::function<torch::Tensor(const torch::Tensor&)>;

/// The encoder's convolutions for images of a shape. Throws an Error if the numbers of channels and
/// strides differ or a layer would leave no pixels.
std::vector<ConvolutionLayer> convolution_layers(const NetworkOptions& options,
                                                 const ImageShape& shape);

/// The most numbers that one layer, of the encoder or of the decoder, reads and writes per image.
/// The decoder's last layer writes `decoder_channels`.
int64_t widest_activations(const std::vector<ConvolutionLayer>& layers, int64_t decoder_channels);

/// At least the most numbers per image that one tensor of these networks has on a GPU, the patches
/// of images that a layer's kernels write among them.
int64_t largest_tensor(const std::vector<ConvolutionLayer>& layers, int64_t decoder_channels);

/// The parameters of one layer.
struct LayerParameters {
  torch::Tensor weight;  ///< [O, C, kernel, kernel], transposed [C, O, kernel, kernel], or [O, C]
  torch::Tensor bias;    ///< [O]
};

/// Maps images [B, C, H, W] to [B, outputs].
class Encoder {
 public:
  Encoder(const std::vector<ConvolutionLayer>& layers, int64_t outputs, const Key& key);
  torch::Tensor forward(torch::Tensor images) const;
  /// The mean over pixels of the output of every convolution, [B, all their channels].
  torch::Tensor layer_means(torch::Tensor images) const;
  /// "convolution0.weight" to "head.bias", in the order of the layers.
  NamedTensors parameters() const;
  const std::vector<ConvolutionLayer>& shapes() const { return shapes_; }
  /// One entry per entry of shapes().
  const std::vector<LayerParameters>& convolutions() const { return convolutions_; }
  /// The linear layer at the end.
  const LayerParameters& head() const { return head_; }
  /// From now on the kernels of cuda/stack.h compute forward(), on the parameters' current memory.
  /// Does nothing where our kernels do not run on the parameters' device.
  void accelerate(const Bf16Copies& bf16_copies);
  cuda::Stack* stack() const { return stack_.get(); }

 private:
  std::vector<ConvolutionLayer> shapes_;
  std::vector<LayerParameters> convolutions_;
  LayerParameters head_;
  std::shared_ptr<cuda::Stack> stack_;
};

/// Maps latent vectors [B, Z] to [B, channels, H, W].
class Decoder {
 public:
  /// A convolution; all but the last are followed by a ReLU.
  struct Layer {
    LayerParameters parameters;
    bool transposed;
    int64_t stride, padding;
    int64_t height, width;  ///< of the output
    torch::Tensor forward(const torch::Tensor& x) const;
  };

  Decoder(const std::vector<ConvolutionLayer>& layers, int64_t latents, int64_t channels,
          const Key& key);
  torch::Tensor forward(const torch::Tensor& latents) const;
  /// "stem.weight" to the last convolution's bias, in the order of the layers.
  NamedTensors parameters() const;
  /// The linear layer at the beginning.
  const LayerParameters& stem() const { return stem_; }
  /// Channels, height and width of the stem's output.
  const std::vector<int64_t>& stem_shape() const { return stem_shape_; }
  const std::vector<Layer>& layers() const { return layers_; }
  void accelerate(const Bf16Copies& bf16_copies);
  cuda::Stack* stack() const { return stack_.get(); }

 private:
  LayerParameters stem_;
  std::vector<Layer> layers_;
  std::vector<int64_t> stem_shape_;
  std::shared_ptr<cuda::Stack> stack_;
};

}  // namespace facet
