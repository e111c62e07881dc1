// Recipes of latent vectors: the plain one is ancestral sampling, every setting changes only its
// factor, and the options written for a recipe give it again.
#include "facet/model/recipe.h"

#include <gtest/gtest.h>

#include "facet/core/shell.h"
#include "facet/core/torch.h"
#include "facet/report/recipe_text.h"
#include "tests/close.h"
#include "tests/message_of.h"

namespace facet {
namespace {

FactorialMixture two_factors() {
  std::vector<FactorOptions> factors = {{"glasses", 2, 2}, {"hair", 5, 3}};
  factors[0].property = "glasses";
  factors[0].values = {"with out", "with"};
  FactorialMixture prior(factors, {});
  for (size_t i = 0; i < 2; ++i)
    prior.posteriors[i] =
        random_posterior(Key(i), prior.factors[i].components, prior.factors[i].dimensions);
  return prior;
}

/// The changed recipe may change the block of the factor hair and no other.
void expect_only_hair_changes(const FactorialMixture& prior, const Recipe& changed) {
  const torch::Tensor before = draw_recipe(prior, plain_recipe(prior, 9), 20).z;
  const torch::Tensor after = draw_recipe(prior, changed, 20).z;
  EXPECT_TRUE(after.narrow(1, 0, 2).equal(before.narrow(1, 0, 2)));
  EXPECT_FALSE(after.narrow(1, 2, 3).equal(before.narrow(1, 2, 3)));
}

TEST(Recipe, ThePlainRecipeIsAncestralSampling) {
  const FactorialMixture prior = two_factors();
  const LatentSample drawn = draw_recipe(prior, plain_recipe(prior, 9), 50);
  const LatentSample sampled = sample_latents(Key(9).fold("samples"), prior, 50);
  EXPECT_TRUE(drawn.z.equal(sampled.z));
  EXPECT_TRUE(drawn.components.equal(sampled.components));
}

TEST(Recipe, SettingsChangeOnlyTheirFactor) {
  const FactorialMixture prior = two_factors();
  Recipe redrawn = plain_recipe(prior, 9), cooled = redrawn, moved = redrawn;
  set_recipe_seed(prior, redrawn, "hair=3");
  set_recipe_temperature(prior, cooled, "hair=0.5");
  add_recipe_offset(prior, moved, "hair:1=-0.5");
  for (const Recipe& changed : {redrawn, cooled, moved}) expect_only_hair_changes(prior, changed);
}

TEST(Recipe, IsWrittenAsTheOptionsThatGiveIt) {
  const FactorialMixture prior = two_factors();
  Recipe recipe = plain_recipe(prior, 9);
  EXPECT_EQ(recipe_options(prior, recipe, 9), "");
  set_recipe_temperature(prior, recipe, "0.1");
  EXPECT_EQ(recipe_options(prior, recipe, 9), " --temperature 0.1");
  recipe[0].component = 0;
  set_recipe_seed(prior, recipe, "hair=18446744073709551615");
  set_recipe_temperature(prior, recipe, "hair=1");
  add_recipe_offset(prior, recipe, "hair:2=1.5");
  EXPECT_EQ(recipe_options(prior, recipe, 9),
            " --fix 'glasses=with out' --temperature glasses=0.1"
            " --redraw hair=18446744073709551615 --offset hair:2=1.5");
}

TEST(Recipe, RefusesInvalidSettings) {
  const FactorialMixture prior = two_factors();
  Recipe recipe = plain_recipe(prior, 1);
  const auto expect_refusal = [&](auto set, const std::string& setting, const char* part) {
    const std::string text = message_of([&] { set(prior, recipe, setting); });
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_refusal(set_recipe_seed, "hair", "no '='");
  expect_refusal(set_recipe_seed, "hiar=1", "did you mean 'hair'");
  expect_refusal(set_recipe_seed, "hair=-1", "'-1'");
  expect_refusal(set_recipe_temperature, "nan", "from 0 to 2");
  expect_refusal(set_recipe_temperature, "hair=3", "from 0 to 2");
  expect_refusal(add_recipe_offset, "hair=1", "no ':'");
  expect_refusal(add_recipe_offset, "hair:3=1", "from 0 to 2");
  expect_refusal(add_recipe_offset, "hair:0=4.5", "from -4 to 4");
  recipe[1].component = 5;
  EXPECT_NE(message_of([&] { draw_recipe(prior, recipe, 1); }).find("component 5"),
            std::string::npos);
}

TEST(Recipe, QuotesWordsForAShell) {
  EXPECT_EQ(shell_quoted("runs/demo-1"), "runs/demo-1");
  EXPECT_EQ(shell_quoted("my runs"), "'my runs'");
  EXPECT_EQ(shell_quoted("it's $(x)"), "'it'\\''s $(x)'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace facet
