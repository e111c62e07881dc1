#include "facet/model/recipe.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

constexpr const char* kMakingRecipe = "making a recipe";

[[noreturn]] void fail(const std::string& object, const std::string& found,
                       const std::string& expected) {
  throw Error({.doing = kMakingRecipe, .object = object, .found = found, .expected = expected});
}

void require_recipe(const FactorialMixture& prior, const Recipe& recipe) {
  if (recipe.size() != prior.size())
    fail("", fmt::format("{} entries", recipe.size()),
         fmt::format("{}, one per factor", prior.size()));
  for (size_t i = 0; i < prior.size(); ++i) {
    const FactorOptions& factor = prior.factors[i];
    if (recipe[i].component >= factor.components)
      fail(factor.name, fmt::format("component {}", recipe[i].component),
           fmt::format("0 to {}", factor.components - 1));
    for (const int64_t component : recipe[i].among)
      if (component < 0 || component >= factor.components)
        fail(factor.name, fmt::format("component {} in a group", component),
             fmt::format("0 to {}", factor.components - 1));
    for (const RecipeOffset& offset : recipe[i].offsets)
      if (offset.dimension < 0 || offset.dimension >= factor.dimensions)
        fail(factor.name, fmt::format("dimension {}", offset.dimension),
             fmt::format("0 to {}", factor.dimensions - 1));
  }
}

torch::Tensor draw_block(const FactorRecipe& recipe, const NormalGamma& chosen, const Key& key) {
  torch::Tensor block = chosen.m;
  if (recipe.temperature > 0) {
    const torch::Tensor draw = student_t_sample(key, chosen);
    // At temperature 1 the draw itself: subtracting and adding the mean would round it.
    block = recipe.temperature == 1 ? draw : chosen.m + recipe.temperature * (draw - chosen.m);
  }
  if (recipe.offsets.empty()) return block;
  const torch::Tensor scale = torch::sqrt(squared_scale(chosen));
  block = block.clone();
  for (const RecipeOffset& offset : recipe.offsets)
    block.select(1, offset.dimension) += offset.stddevs * scale.select(1, offset.dimension);
  return block;
}

}  // namespace

Recipe plain_recipe(const FactorialMixture& prior, uint64_t seed) {
  FactorRecipe entry;
  entry.seed = seed;
  return Recipe(prior.size(), entry);
}

LatentSample draw_recipe(const FactorialMixture& prior, const Recipe& recipe, int64_t count) {
  require_recipe(prior, recipe);
  const auto key = [&](size_t i) { return Key(recipe[i].seed).fold("samples").fold(i); };
  const auto choose = [&](size_t i) {
    const FactorPosterior& posterior = prior.posteriors[i];
    return recipe[i].component >= 0
               ? same_component(posterior, recipe[i].component, count)
               : sample_components(key(i).fold("component"), posterior, count, recipe[i].among);
  };
  const auto draw = [&](size_t i, const torch::Tensor& components) {
    return draw_block(recipe[i], chosen_components(prior.posteriors[i], components),
                      key(i).fold("block"));
  };
  return draw_latents(prior, choose, draw);
}

}  // namespace facet
