#include "facet/core/random.h"

#include <stdexcept>

#include <ATen/CPUGeneratorImpl.h>

#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/cuda/random_ops.h"

namespace facet {

namespace {

/// Whether our kernels draw numbers of these options.
bool kernel_draws(const torch::TensorOptions& options) {
  const auto type = c10::typeMetaToScalarType(options.dtype());
  return (type == kFloat32 || type == kFloat64) && cuda::kernels_available(options.device());
}

}  // namespace

Key Key::fold(std::string_view purpose) const {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char letter : purpose) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3ULL;
  }
  return fold(hash);
}

Key Key::at(const torch::Tensor& counter) const {
  if (!cuda::kernels_available(counter.device()))
    return fold(static_cast<uint64_t>(counter.item<int64_t>()));
  Key key = *this;
  key.counter_ = counter;
  return key;
}

Key Key::rows(int64_t begin, int64_t total, const std::shared_ptr<SharedDraws>& draws) const {
  Key key = *this;
  key.first_row_ = begin;
  key.total_rows_ = total;
  key.draws_ = draws;
  return key;
}

torch::Tensor Key::draw_rows(RandomDraw draw, torch::IntArrayRef shape,
                             const torch::TensorOptions& options) const {
  std::vector<int64_t> all = shape.vec();
  all.front() = total_rows_;
  torch::Tensor& drawn = (*draws_)[{draw, state_, all}];
  if (!drawn.defined()) {
    Key whole = *this;
    whole.draws_ = nullptr;
    drawn = draw(whole, all, options);
  }
  // A copy, because callers scale what they have drawn in place.
  return drawn.narrow(0, first_row_, shape.front()).clone();
}

torch::Generator Key::generator(torch::Device device) const {
  if (counter_.defined())
    throw std::logic_error("a generator is made on the host, but the key's counter is on the GPU");
  // Not a clone on the CPU: LibTorch never frees those, and 2.5 kB per draw add up over a run.
  if (device.is_cpu()) return at::make_generator<at::CPUGeneratorImpl>(state_);
  torch::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(state_);
  return generator;
}

torch::Tensor standard_normal(const Key& key, torch::IntArrayRef shape,
                              const torch::TensorOptions& options) {
  if (key.has_rows()) return key.draw_rows(standard_normal, shape, options);
  if (kernel_draws(options))
    return cuda::standard_normal(key.value(), key.counter(), shape, options);
  return torch::randn(shape, key.generator(options.device()), options);
}

torch::Tensor uniform(const Key& key, torch::IntArrayRef shape,
                      const torch::TensorOptions& options) {
  if (key.has_rows()) return key.draw_rows(uniform, shape, options);
  if (kernel_draws(options)) return cuda::uniform(key.value(), key.counter(), shape, options);
  return torch::rand(shape, key.generator(options.device()), options);
}

torch::Tensor permutation(const Key& key, int64_t count) {
  return torch::randperm(count, key.generator(), kInt64);
}

}  // namespace facet
