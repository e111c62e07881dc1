// Two-dimensional views of a fitted mixture: the vectors and the components of a factor on pairs of
// principal axes of the vectors.
#pragma once

#include <vector>

#include "facet/fit/vector_mixture.h"
#include "facet/report/scatter.h"

namespace facet {

/// The views of one factor, on the first and second axis, the third and fourth, and so on, at most
/// `most`; of a factor with one dimension, none. The largest living components are drawn,
/// all in standard units. `vectors` are [N, Z].
std::vector<Scatter> factor_views(const VectorMixture& mixture, size_t factor,
                                  const torch::Tensor& vectors, size_t most);

}  // namespace facet
