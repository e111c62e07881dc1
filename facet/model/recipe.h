// A recipe for a latent vector. For every factor it has a chosen or drawn component, a seed, a
// temperature that scales the distance to the component's mean, and offsets along single
// dimensions. As every factor has its own seed, redrawing one does not change the others. `facet
// sample` and the explorer both draw from recipes, so that they make the same pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/prior/sampling.h"

namespace facet {

/// An offset along one dimension of a factor's block.
struct RecipeOffset {
  int64_t dimension = 0;
  double stddevs = 0;  ///< in units of the component's predictive scale (eq:z-t-dist)
};

struct FactorRecipe {
  int64_t component = -1;      ///< -1 draws one from E[pi]
  std::vector<int64_t> among;  ///< ... of these components only, if there are any: of a group
  uint64_t seed = 1;
  double temperature = 1;  ///< factor on the distance to the component's mean; 0 gives the mean
  std::vector<RecipeOffset> offsets;
};

/// One entry per factor.
using Recipe = std::vector<FactorRecipe>;

/// Limits for the recipes of users.
inline constexpr double kLargestTemperature = 2;
inline constexpr double kLargestOffset = 4;

/// The recipe of ancestral sampling: every factor is drawn, all with one seed.
Recipe plain_recipe(const FactorialMixture& prior, uint64_t seed);

/// `count` latent vectors drawn by the recipe. The plain recipe gives the same as
/// sample_latents(Key(seed).fold("samples"), ...). Throws an Error if an entry has a component or a
/// dimension that does not exist.
LatentSample draw_recipe(const FactorialMixture& prior, const Recipe& recipe, int64_t count);

}  // namespace facet
