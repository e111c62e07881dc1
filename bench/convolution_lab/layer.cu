#include "bench/convolution_lab/layer.cuh"

namespace facet::lab {

using cuda::ConvolutionSizes;
using cuda::Operand;
using cuda::View;

namespace {

/// [B, height, width, channels], of float32 as they are where `single`, else of the operand's type.
View packed(void* data, int height, int width, int channels, bool single) {
  View view;
  view.data = data;
  view.single = single;
  view.column = channels;
  view.row = width * channels;
  view.batch = height * width * channels;
  return view;
}

int next_multiple(int count, int unit) { return (count + unit - 1) / unit * unit; }

/// As facet/cuda/stack_layout.h: too few channels, or too odd a number of them, for 16-byte pieces.
bool narrow(int channels) { return channels % 8 != 0; }

Storage storage_of(Operand operand) {
  return operand == Operand::bf16 ? Storage::bf16 : Storage::float32;
}

}  // namespace

PatchSizes::PatchSizes(const ConvolutionSizes& s, Operand operand)
    : x_narrow(narrow(s.channels_in)),
      y_narrow(narrow(s.channels_out) && !x_narrow),
      height(x_narrow ? s.height_out : s.height_in),
      width(x_narrow ? s.width_out : s.width_in),
      known(s.kernel * s.kernel * (x_narrow ? s.channels_in : s.channels_out)),
      pitch(next_multiple(known + 1, operand == Operand::bf16 ? 8 : 4)),
      product_pitch(next_multiple(known, 4)) {
  const int channels_in = x_narrow ? pitch : s.channels_in;
  const int channels_out = y_narrow ? pitch : s.channels_out;
  from_patches = {s.batch, channels_in, height, width, channels_out, height,
                  width,   1,           1,      0,     known,        y_narrow};
  to_products = from_patches;
  to_products.known_channels = 0;
  (x_narrow ? to_products.channels_in : to_products.channels_out) = known;
}

Layer::Layer(const ConvolutionSizes& s, Operand with, const cuda::Workspace& memory)
    : sizes(s),
      operand(with),
      workspace(memory),
      patch(s, with),
      precision(storage_of(with)),
      x_storage(narrow(s.channels_in) ? Storage::float32 : precision),
      y_storage(narrow(s.channels_out) ? Storage::float32 : precision),
      x_count(size_t(s.batch) * s.height_in * s.width_in * s.channels_in),
      y_count(size_t(s.batch) * s.height_out * s.width_out * s.channels_out),
      weight_count(size_t(s.channels_out) * s.kernel * s.kernel * s.channels_in),
      x(x_count * bytes_of(x_storage)),
      y(y_count * bytes_of(y_storage)),
      weights(weight_count * bytes_of(precision)),
      out(std::max(x_count * bytes_of(x_storage), y_count * bytes_of(y_storage))),
      patches(patch.any() ? patch.pixels(s.batch) * patch.pitch * bytes_of(precision) : 0),
      bias(s.channels_out),
      weights_gradient(weight_count),
      bias_gradient(s.channels_out),
      products(patch.any() ? patch.pixels(s.batch) * patch.product_pitch : 0) {
  fill(x, x_count, 1, precision, x_storage);
  fill(y, y_count, 2, precision, y_storage);
  fill(weights, weight_count, 3, precision, precision);
  fill(bias, s.channels_out, 4, Storage::float32, Storage::float32);
  x_view = packed(x, s.height_in, s.width_in, s.channels_in, narrow(s.channels_in));
  y_view = packed(y, s.height_out, s.width_out, s.channels_out, narrow(s.channels_out));
  patch_view = packed(patches, patch.height, patch.width, patch.pitch, false);
  to_y.out = packed(out, s.height_out, s.width_out, s.channels_out, narrow(s.channels_out));
  to_y.bias = bias;
  to_y.relu = !patch.y_narrow;
  to_x.out = packed(out, s.height_in, s.width_in, s.channels_in, narrow(s.channels_in));
  if (!patch.x_narrow) to_x.mask = x_view;
  to_products.out = packed(products, patch.height, patch.width, patch.product_pitch, true);
}

void Layer::forward(cudaStream_t stream) const {
  if (patch.x_narrow) {
    cuda::unfold(operand, sizes, x_view, patches, patch.pitch, stream);
    cuda::convolve(operand, patch.from_patches, patch_view, weights, to_y, workspace, stream);
  } else if (patch.y_narrow) {
    cuda::convolve(operand, patch.to_products, x_view, weights, to_products, workspace, stream);
    cuda::fold(sizes, products, patch.product_pitch, bias, to_y.out, stream);
  } else {
    cuda::convolve(operand, sizes, x_view, weights, to_y, workspace, stream);
  }
}

void Layer::transposed(cudaStream_t stream) const {
  if (patch.x_narrow) {
    cuda::convolve_transposed(operand, patch.to_products, y_view, weights, to_products, workspace,
                              stream);
    cuda::fold_transposed(sizes, products, patch.product_pitch, nullptr, to_x.out, stream);
  } else if (patch.y_narrow) {
    cuda::unfold_transposed(operand, sizes, y_view, patches, patch.pitch, stream);
    cuda::convolve_transposed(operand, patch.from_patches, patch_view, weights, to_x, workspace,
                              stream);
  } else {
    cuda::convolve_transposed(operand, sizes, y_view, weights, to_x, workspace, stream);
  }
}

void Layer::gradients(cudaStream_t stream) const {
  if (patch.x_narrow) {
    cuda::weight_gradient(operand, patch.from_patches, patch_view, y_view, weights_gradient,
                          bias_gradient, workspace, stream);
  } else if (patch.y_narrow) {
    cuda::weight_gradient(operand, patch.from_patches, x_view, patch_view, weights_gradient,
                          nullptr, workspace, stream);
    sum_channels(stream);
  } else {
    cuda::weight_gradient(operand, sizes, x_view, y_view, weights_gradient, bias_gradient,
                          workspace, stream);
  }
}

void Layer::sum_channels(cudaStream_t stream) const {
  cuda::channel_sums(operand, y_view, sizes.batch, sizes.height_out, sizes.width_out,
                     sizes.channels_out, bias_gradient, workspace, stream);
}

LayerErrors Layer::check() const {
  const int columns = gradient_columns();
  const size_t channels = sizes.channels_out, group = columns - 1;
  const Buffer<double> expected(std::max({x_count, y_count, channels * columns}));
  LayerErrors errors;
  out.set_bytes(0xff);
  forward(nullptr);
  plain_forward(sizes, x_numbers(), weight_numbers(), bias, to_y.relu, expected);
  errors.forward = relative_error({out, y_storage}, y_count, expected);
  out.set_bytes(0xff);
  transposed(nullptr);
  const Numbers mask{to_x.mask.data, x_storage};
  plain_transposed(sizes, y_numbers(), weight_numbers(), mask, expected);
  errors.transposed = relative_error({out, x_storage}, x_count, expected);
  out.check_guards();

  gradients(nullptr);
  plain_weights(sizes, x_numbers(), y_numbers(), expected);
  const ReferenceLayout of_weights{0, group, 1}, of_bias{group, 1, group};
  const Numbers found_bias{bias_gradient, Storage::float32};
  errors.weights =
      relative_error({weights_gradient, Storage::float32}, weight_count, expected, of_weights);
  errors.bias = relative_error(found_bias, channels, expected, of_bias);
  bias_gradient.set_bytes(0xff);
  sum_channels(nullptr);
  errors.channel_sums = relative_error(found_bias, channels, expected, of_bias);
  weights_gradient.check_guards();
  bias_gradient.check_guards();
  return errors;
}

double Layer::gigaflop() const {
  return 2e-9 * static_cast<double>(y_count) * (gradient_columns() - 1);
}

double microseconds(cudaStream_t stream, const std::function<void(cudaStream_t)>& call) {
  return replay_times(stream, 20, 5, call).front();
}

}  // namespace facet::lab
