#include "facet/cuda/stack_layout.h"

#include <utility>

#include "facet/core/torch.h"

namespace facet::cuda {

namespace {

using Kind = StackLayer::Kind;

int64_t next_multiple(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace

int64_t output_count(const StackLayer& layer) {
  return layer.channels_out * layer.height_out * layer.width_out;
}

View view_of(const torch::Tensor& tensor) {
  View view;
  view.data = tensor.data_ptr();
  view.single = tensor.scalar_type() == kFloat32;
  view.batch = whole(tensor.stride(0));
  view.channel = whole(tensor.stride(1));
  if (tensor.dim() == 4) {
    view.row = whole(tensor.stride(2));
    view.column = whole(tensor.stride(3));
  }
  return view;
}

View rows_of_channels(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels) {
  View view;
  view.data = data.data_ptr();
  view.column = whole(channels);
  view.row = whole(width * channels);
  view.batch = whole(height * width * channels);
  return view;
}

View rows_of_features(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels) {
  View view;
  view.data = data.data_ptr();
  view.channel = whole(height * width);
  view.row = whole(width);
  view.column = 1;
  view.batch = whole(height * width * channels);
  return view;
}

View features_in_rows(const torch::Tensor& data, int64_t height, int64_t width, int64_t channels) {
  View view;
  view.data = data.data_ptr();
  view.batch = whole(height * width * channels);
  view.channel = 1;
  view.channel_group = whole(height * width);
  view.within_group = whole(channels);
  return view;
}

View vectors(const torch::Tensor& data, int64_t features) {
  View view;
  view.data = data.data_ptr();
  view.batch = whole(features);
  return view;
}

ConvolutionSizes sizes_of(const StackLayer& layer, int64_t batch) {
  if (layer.kind == Kind::linear)
    return {whole(batch),
            whole(layer.channels_in * layer.height_in * layer.width_in),
            1,
            1,
            whole(output_count(layer)),
            1,
            1,
            1,
            1,
            0};
  ConvolutionSizes sizes{whole(batch),           whole(layer.channels_in),  whole(layer.height_in),
                         whole(layer.width_in),  whole(layer.channels_out), whole(layer.height_out),
                         whole(layer.width_out), whole(layer.kernel),       whole(layer.stride),
                         whole(layer.padding)};
  if (layer.kind == Kind::transposed) {
    std::swap(sizes.channels_in, sizes.channels_out);
    std::swap(sizes.height_in, sizes.height_out);
    std::swap(sizes.width_in, sizes.width_out);
  }
  return sizes;
}

int64_t Patches::elements() const {
  return int64_t{filled.batch} * filled.height_in * filled.width_in * pitch;
}

View Patches::view(const torch::Tensor& data) const {
  return rows_of_channels(data, filled.height_in, filled.width_in, pitch);
}

Patches patches_of(const ConvolutionSizes& sizes, bool of_x) {
  Patches patches;
  const int taps = sizes.kernel * sizes.kernel;
  const int height = of_x ? sizes.height_out : sizes.height_in;
  const int width = of_x ? sizes.width_out : sizes.width_in;
  patches.count = taps * (of_x ? sizes.channels_in : sizes.channels_out);
  patches.pitch = whole(next_multiple(patches.count + 1, 32));
  patches.rows = of_x ? sizes.channels_out : patches.count;
  patches.columns = of_x ? patches.count : sizes.channels_in;
  patches.filled_rows = of_x ? sizes.channels_out : patches.pitch;
  patches.filled_columns = of_x ? patches.pitch : sizes.channels_in;
  patches.filled = {sizes.batch,
                    patches.filled_columns,
                    height,
                    width,
                    patches.filled_rows,
                    height,
                    width,
                    1,
                    1,
                    0};
  patches.known = patches.filled;
  patches.known.known_channels = patches.count;
  patches.known.known_side_out = !of_x;
  return patches;
}

}  // namespace facet::cuda
