// What the components of a factor look like: the picture of every component's mean, while all other
// factors are typical.
#pragma once

#include "facet/core/tensor.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

/// Pictures side by side in an atlas, and the most components that it shows.
inline constexpr int64_t kAtlasColumns = 16;
inline constexpr int64_t kMostAtlasComponents = 1024;

/// Every block at the mean of its factor's heaviest component, float64 [1, Z].
torch::Tensor typical_latents(const FactorialMixture& prior);

/// The typical vector with one factor at the mean of each of its components, float64 [count, Z];
/// the first kMostAtlasComponents of them.
torch::Tensor atlas_latents(const FactorialMixture& prior, size_t factor);

}  // namespace facet
