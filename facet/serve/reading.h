// Reading the explorer's requests: from JSON that anyone may have sent to recipes, latent vectors
// and changes that the model can be asked for. Whatever cannot be is an ApiError with its place.
#pragma once

#include <string>
#include <vector>

#include "facet/core/error.h"
#include "facet/data/image_shape.h"
#include "facet/model/recipe.h"
#include "facet/serve/message.h"

namespace facet {

/// What the library finds wrong, with the place in the request.
template <typename Action>
auto at_place(const std::string& where, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw ApiError(400, error.what(), where);
  }
}

/// A value's name or an index.
int64_t read_component(const FactorOptions& factor, const RequestValue& value);

/// A state of the request with the seed that its command names.
struct State {
  uint64_t seed = 1;
  Recipe recipe;
};

State read_state(const FactorialMixture& prior, const RequestValue& value);

/// A row of so many numbers of at most `largest`, float64 [1, size].
torch::Tensor read_row(const RequestValue& value, int64_t size, double largest);

/// Components by factor, -1 where nothing changes.
std::vector<int64_t> read_changes(const FactorialMixture& prior, const RequestValue& value);

/// How pictures are wanted.
struct Look {
  int64_t scale = 1;
  bool plain_png = false;
};

Look read_look(const RequestValue& value, const ImageShape& shape, int64_t count);

/// An ApiError where pictures would have too many pixels in all.
void check_pixels(const ImageShape& shape, int64_t count, int64_t scale, const std::string& where);

}  // namespace facet
