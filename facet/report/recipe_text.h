// Recipes as the command line has them: the texts that `facet sample` takes, and the options that
// make a recipe again.
#pragma once

#include <cstdint>
#include <string>

#include "facet/model/recipe.h"

namespace facet {

/// Changes of a recipe as the command line has them: "name=SEED"; "0.5" for all factors or
/// "name=0.5"; "name:DIMENSION=STDDEVS". Errors name what cannot be.
void set_recipe_seed(const FactorialMixture& prior, Recipe& recipe, const std::string& setting);
void set_recipe_temperature(const FactorialMixture& prior, Recipe& recipe,
                            const std::string& setting);
void add_recipe_offset(const FactorialMixture& prior, Recipe& recipe, const std::string& setting);

/// The options of `facet sample` that make the recipe from `--seed seed`, each with a space before
/// it and quoted for a shell where need be.
std::string recipe_options(const FactorialMixture& prior, const Recipe& recipe, uint64_t seed);

}  // namespace facet
