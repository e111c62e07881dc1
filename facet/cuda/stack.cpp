#include "facet/cuda/stack.h"

#include <utility>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <torch/csrc/autograd/custom_function.h>

#include "facet/core/torch.h"
#include "facet/cuda/stack_state.h"

namespace facet::cuda {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Autograd keeps values, not pointers: this carries a stack's state among them, so that a backward
/// pass has it even where the stack itself is gone.
struct SavedState : torch::CustomClassHolder {
  std::shared_ptr<StackState> state;

  explicit SavedState(std::shared_ptr<StackState> shared) : state(std::move(shared)) {}
};

/// One run through a stack, forward and back.
struct Run : torch::autograd::Function<Run> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor& /*anchor*/,
                               const std::shared_ptr<StackState>& state) {
    const ForwardResult result = forward_pass(*state, input);
    context->save_for_backward(result.saved);
    context->saved_data["state"] =
        c10::IValue::make_capsule(c10::make_intrusive<SavedState>(state));
    context->saved_data["input_needs_gradient"] = input.requires_grad();
    return result.output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto capsule = context->saved_data["state"].toCapsule();
    StackState& state = *static_cast<const SavedState&>(*capsule).state;
    const torch::Tensor input_gradient =
        backward_pass(state, gradients[0], context->get_saved_variables(),
                      context->saved_data["input_needs_gradient"].toBool());
    return {input_gradient, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

Stack::Stack(std::vector<StackLayer> layers, std::vector<torch::Tensor> bf16_copies)
    : state_(std::make_shared<StackState>(std::move(layers), std::move(bf16_copies))) {}

Stack::~Stack() {
  // An input that came from this very network holds the state, through the backward pass behind it:
  // the two would keep each other alive.
  state_->patches_input.reset();
}

torch::Tensor Stack::forward(const torch::Tensor& input) {
  return Run::apply(input, state_->anchor, state_);
}

void Stack::begin_gradients() { state_->written = false; }

void Stack::finish_gradients() {
  if (!state_->side_busy) return;
  at::cuda::CUDAEvent done;
  done.record(state_->side);
  done.block(at::cuda::getCurrentCUDAStream());
  state_->side_busy = false;
  state_->kept.clear();
}

}  // namespace facet::cuda
