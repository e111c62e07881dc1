// One layer with random operands on the GPU, computed as facet/cuda/stack computes it: forward,
// transposed (the gradient of the input) and the gradient of the weights. Images with few channels
// go through patches.
#pragma once

#include "bench/convolution_lab/plain.cuh"
#include "bench/lab.cuh"

namespace facet::lab {

/// Memory for partial sums that every call may use.
class WorkspaceMemory {
 public:
  WorkspaceMemory() { counters_.set_bytes(0); }
  cuda::Workspace get() const { return {sums_, counters_}; }

 private:
  Buffer<float> sums_{cuda::workspace_sums};
  Buffer<int> counters_{cuda::workspace_counters};
};

/// Which side of a layer has few channels, stored as float32, and its convolution by patches.
struct PatchSizes {
  bool x_narrow, y_narrow;  ///< at most one of them
  int height, width;        ///< pixels of an image that have a patch
  int known;                ///< numbers of a patch that the weights have
  int pitch;                ///< the same with a one for the bias, filled up
  int product_pitch;
  cuda::ConvolutionSizes from_patches, to_products;  ///< with 1x1 kernels

  PatchSizes(const cuda::ConvolutionSizes& sizes, cuda::Operand operand);
  bool any() const { return x_narrow || y_narrow; }
  size_t pixels(int batch) const { return size_t(batch) * height * width; }
};

/// Relative errors against plain sums.
struct LayerErrors {
  double forward, transposed, weights, bias, channel_sums;
};

struct Layer {
  cuda::ConvolutionSizes sizes;
  cuda::Operand operand;
  cuda::Workspace workspace;
  PatchSizes patch;
  Storage precision, x_storage, y_storage;
  size_t x_count, y_count, weight_count;
  Buffer<unsigned char> x, y, weights, out, patches;
  Buffer<float> bias, weights_gradient, bias_gradient, products;
  cuda::View x_view, y_view, patch_view;
  cuda::Finish to_y, to_x, to_products;

  Layer(const cuda::ConvolutionSizes& sizes, cuda::Operand operand,
        const cuda::Workspace& workspace);

  void forward(cudaStream_t stream) const;
  void transposed(cudaStream_t stream) const;
  /// Reads the patches that forward (narrow x) or transposed (narrow y) has written.
  void gradients(cudaStream_t stream) const;
  void sum_channels(cudaStream_t stream) const;
  LayerErrors check() const;

  Numbers x_numbers() const { return {x, x_storage}; }
  Numbers y_numbers() const { return {y, y_storage}; }
  Numbers weight_numbers() const { return {weights, precision}; }
  /// Columns of the reference of the gradients: the weights and the bias.
  int gradient_columns() const { return sizes.kernel * sizes.kernel * sizes.channels_in + 1; }
  /// Multiplications and additions of one of the three products, in 10^9.
  double gigaflop() const;
};

/// The best time of a call in microseconds, of five replays of a graph of twenty.
double microseconds(cudaStream_t stream, const std::function<void(cudaStream_t)>& call);

/// Prints the times of every tile and way to share a sum that suits the layer, by which the rules
/// of convolution_launch.cuh are chosen; "!" and the error beside wrong results.
void tune(const Layer& layer, cudaStream_t stream);

}  // namespace facet::lab
