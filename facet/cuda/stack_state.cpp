#include "facet/cuda/stack_state.h"

#include <utility>

#include "facet/core/torch.h"

namespace facet::cuda {

namespace {

using Kind = StackLayer::Kind;

}  // namespace

WorkspaceMemory::WorkspaceMemory(torch::Device device)
    : sums(torch::empty({static_cast<int64_t>(workspace_sums)},
                        torch::TensorOptions().dtype(kFloat32).device(device))),
      counters(torch::zeros({static_cast<int64_t>(workspace_counters)},
                            torch::TensorOptions().dtype(kInt32).device(device))) {}

Workspace WorkspaceMemory::workspace() const {
  return {sums.data_ptr<float>(), counters.data_ptr<int>()};
}

StackState::StackState(std::vector<StackLayer> all, std::vector<torch::Tensor> copies)
    : layers(std::move(all)),
      bf16_copies(std::move(copies)),
      operand(bf16_copies.empty() ? Operand::tf32 : Operand::bf16),
      main_memory(device()),
      side_memory(device()),
      own_side(device()),
      side(own_side.get()),
      anchor(torch::zeros({1}).requires_grad_()) {}

torch::ScalarType StackState::type() const {
  return operand == Operand::bf16 ? torch::kBFloat16 : kFloat32;
}

torch::Tensor StackState::memory(int64_t count, torch::ScalarType scalar) const {
  return torch::empty({count}, torch::TensorOptions().dtype(scalar).device(device()));
}

const void* StackState::weights(size_t layer) const {
  return bf16_copies.empty() ? layers[layer].weight.data_ptr() : bf16_copies[layer].data_ptr();
}

torch::Tensor StackState::filled_weights(size_t layer, const Patches& shape,
                                         cudaStream_t stream) const {
  const torch::Tensor filled = memory(int64_t{shape.filled_rows} * shape.filled_columns, type());
  fill_up(operand, weights(layer), shape.rows, shape.columns, filled.data_ptr(), shape.filled_rows,
          shape.filled_columns, stream);
  return filled;
}

torch::Tensor StackState::rounded(const torch::Tensor& vectors, cudaStream_t stream) const {
  TORCH_INTERNAL_ASSERT(vectors.stride(1) == 1, "rows lie in one piece");
  const torch::Tensor result = memory(vectors.numel(), type());
  round_to_operand(operand, vectors.data_ptr<float>(), whole(vectors.size(0)),
                   whole(vectors.size(1)), whole(vectors.stride(0)), result.data_ptr(), stream);
  return result;
}

View StackState::input_view(size_t i, const torch::Tensor& data) const {
  const StackLayer& layer = layers[i];
  if (i == 0 && layer.kind != Kind::linear) return view_of(data);
  const int64_t features = layer.channels_in * layer.height_in * layer.width_in;
  return layer.kind == Kind::linear
             ? vectors(data, features)
             : rows_of_channels(data, layer.height_in, layer.width_in, layer.channels_in);
}

torch::Tensor StackState::convolve_to_image(size_t layer, bool transposed,
                                            const ConvolutionSizes& sizes, const View& from,
                                            const Finish& finish, cudaStream_t stream) const {
  const Patches shape = patches_of(sizes, transposed);
  const torch::Tensor filled = filled_weights(layer, shape, stream);
  const torch::Tensor products = memory(shape.elements(), kFloat32);
  Finish to_products;
  to_products.out = shape.view(products);
  to_products.out.single = true;
  (transposed ? convolve_transposed : convolve)(operand, shape.filled, from, filled.data_ptr(),
                                                to_products, main_memory.workspace(), stream);
  (transposed ? fold_transposed : fold)(sizes, products.data_ptr<float>(), shape.pitch, finish.bias,
                                        finish.out, stream);
  return filled;
}

bool StackState::before_linear(size_t layer) const {
  return !last(layer) && layers[layer + 1].kind == Kind::linear;
}

bool StackState::of_images(size_t layer) const {
  return layer == 0 && layers[layer].kind == Kind::convolution && narrow(layers[layer].channels_in);
}

bool StackState::to_images(size_t layer) const {
  return last(layer) && layers[layer].kind != Kind::linear && narrow(layers[layer].channels_out);
}

}  // namespace facet::cuda
