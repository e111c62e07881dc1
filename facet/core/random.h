// Random numbers without hidden state. A key is a value, and every draw is a pure function of its
// key: step 1000 of a run draws the same numbers whether or not the run was stopped and resumed
// before it, and no generator state has to be saved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "facet/core/tensor.h"

namespace facet {

class Key;

using RandomDraw = torch::Tensor (*)(const Key&, torch::IntArrayRef, const torch::TensorOptions&);

/// What keys of different rows have drawn for all rows, by draw, key and shape.
using SharedDraws = std::map<std::tuple<RandomDraw, uint64_t, std::vector<int64_t>>, torch::Tensor>;

class Key {
 public:
  explicit Key(uint64_t seed) : state_(mix(seed + 0x9e3779b97f4a7c15ULL)) {}

  /// A key for one step, key.fold(step), or for one purpose, key.fold("noise").
  Key fold(uint64_t number) const {
    Key key = *this;
    key.state_ = Key(state_ ^ mix(number + 0x632be59bd9b4e019ULL)).state_;
    return key;
  }
  Key fold(std::string_view purpose) const;
  /// A key for the step whose number is in `counter`, an int64 scalar. On a GPU with our kernels
  /// the draws read the counter each time they run, so that a captured graph draws new numbers at
  /// every replay. Elsewhere the counter is read here, and the key is fold(counter).
  Key at(const torch::Tensor& counter) const;

  /// A key for rows `begin` and on of `total`: its draws of shape [n, ...] are n rows of what this
  /// key draws for [total, ...]. Keys with the same `draws` make the draw once.
  Key rows(int64_t begin, int64_t total, const std::shared_ptr<SharedDraws>& draws) const;
  /// Whether it is such a key.
  bool has_rows() const { return draws_ != nullptr; }

  uint64_t value() const { return state_; }
  /// The step number on the GPU that draws also depend on; undefined if there is none.
  const torch::Tensor& counter() const { return counter_; }

  /// A generator on `device` seeded by this key, which must have no counter.
  torch::Generator generator(torch::Device device = torch::kCPU) const;

 private:
  /// splitmix64's finalizer: every bit of the result depends on every bit of `x`.
  static constexpr uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  friend torch::Tensor standard_normal(const Key&, torch::IntArrayRef, const torch::TensorOptions&);
  friend torch::Tensor uniform(const Key&, torch::IntArrayRef, const torch::TensorOptions&);
  /// The key's rows of what `draw` draws for all.
  torch::Tensor draw_rows(RandomDraw draw, torch::IntArrayRef shape,
                          const torch::TensorOptions& options) const;

  uint64_t state_;
  torch::Tensor counter_;
  int64_t first_row_ = 0, total_rows_ = 0;
  std::shared_ptr<SharedDraws> draws_;
};

torch::Tensor standard_normal(const Key& key, torch::IntArrayRef shape,
                              const torch::TensorOptions& options);
torch::Tensor uniform(const Key& key, torch::IntArrayRef shape,
                      const torch::TensorOptions& options);

/// A random order of 0..count-1, int64 [count], on the CPU.
torch::Tensor permutation(const Key& key, int64_t count);

}  // namespace facet
