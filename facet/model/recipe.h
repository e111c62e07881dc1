// How a latent vector is to be made, factor by factor: at a chosen component or at a drawn one,
// from a seed of its own, nearer to the component's mean or farther out, and moved along single
// dimensions. Because every factor has its own seed, redrawing one leaves all others as they are.
// `facet sample` and the explorer make their pictures from recipes, so that both make the same
// ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/prior/sampling.h"

namespace facet {

/// A move along one dimension of a factor's block.
struct RecipeOffset {
  int64_t dimension = 0;
  double stddevs = 0;  ///< in the component's predictive scale (eq:z-t-dist)
};

struct FactorRecipe {
  int64_t component = -1;  ///< -1 draws one from E[pi]
  uint64_t seed = 1;
  double temperature = 1;  ///< of the distance to the component's mean; 0 is the mean itself
  std::vector<RecipeOffset> offsets;
};

/// One entry a factor.
using Recipe = std::vector<FactorRecipe>;

/// What the recipes of users are held to.
inline constexpr double kLargestTemperature = 2;
inline constexpr double kLargestOffset = 4;

/// The recipe of ancestral sampling: every factor drawn, with one seed.
Recipe plain_recipe(const FactorialMixture& prior, uint64_t seed);

/// `count` latent vectors by the recipe. The plain recipe gives what
/// sample_latents(Key(seed).fold("samples"), ...) gives. An Error where an entry names a component
/// or a dimension that is not there.
LatentSample draw_recipe(const FactorialMixture& prior, const Recipe& recipe, int64_t count);

}  // namespace facet
