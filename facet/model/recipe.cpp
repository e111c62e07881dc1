#include "facet/model/recipe.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

constexpr const char* kDoing = "making a recipe";

[[noreturn]] void fail(const std::string& object, const std::string& found,
                       const std::string& expected) {
  throw Error({.doing = kDoing, .object = object, .found = found, .expected = expected});
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

/// The parts before and after the last '='.
std::pair<std::string, std::string> sides(const std::string& setting, const char* expected) {
  const size_t equals = setting.rfind('=');
  if (equals == std::string::npos) fail(setting, "no '='", expected);
  return {setting.substr(0, equals), setting.substr(equals + 1)};
}

template <typename Number>
Number parse_number(const std::string& setting, const std::string& text, double least, double most,
                    const char* what) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || !(static_cast<double>(number) >= least) ||
      !(static_cast<double>(number) <= most))
    fail(setting, fmt::format("'{}'", text), fmt::format("{} from {} to {}", what, least, most));
  return number;
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
    return recipe[i].component >= 0 ? same_component(posterior, recipe[i].component, count)
                                    : sample_components(key(i).fold("component"), posterior, count);
  };
  const auto draw = [&](size_t i, const torch::Tensor& components) {
    return draw_block(recipe[i], chosen_components(prior.posteriors[i], components),
                      key(i).fold("block"));
  };
  return draw_latents(prior, choose, draw);
}

void set_recipe_seed(const FactorialMixture& prior, Recipe& recipe, const std::string& setting) {
  const auto [name, seed] = sides(setting, "name=SEED");
  recipe[prior.index_of(name)].seed =
      parse_number<uint64_t>(setting, seed, 0, 18446744073709551615.0, "a whole number");
}

void set_recipe_temperature(const FactorialMixture& prior, Recipe& recipe,
                            const std::string& setting) {
  const auto parse = [&](const std::string& text) {
    return parse_number<double>(setting, text, 0, kLargestTemperature, "a number");
  };
  if (setting.find('=') == std::string::npos) {
    const double temperature = parse(setting);
    for (FactorRecipe& entry : recipe) entry.temperature = temperature;
    return;
  }
  const auto [name, temperature] = sides(setting, "name=TEMPERATURE");
  recipe[prior.index_of(name)].temperature = parse(temperature);
}

void add_recipe_offset(const FactorialMixture& prior, Recipe& recipe, const std::string& setting) {
  const char* expected = "name:DIMENSION=STDDEVS";
  const auto [dimension, stddevs] = sides(setting, expected);
  const size_t colon = dimension.rfind(':');
  if (colon == std::string::npos) fail(setting, "no ':'", expected);
  const size_t i = prior.index_of(dimension.substr(0, colon));
  recipe[i].offsets.push_back(
      {parse_number<int64_t>(setting, dimension.substr(colon + 1), 0,
                             static_cast<double>(prior.factors[i].dimensions - 1), "a dimension"),
       parse_number<double>(setting, stddevs, -kLargestOffset, kLargestOffset,
                            "standard deviations")});
}

std::string recipe_options(const FactorialMixture& prior, const Recipe& recipe, uint64_t seed) {
  std::string text;
  const auto add = [&](const char* option, const std::string& value) {
    text += fmt::format(" {} {}", option, shell_quoted(value));
  };
  const double common = recipe.front().temperature;
  const bool equal = std::all_of(recipe.begin(), recipe.end(),
                                 [&](const auto& entry) { return entry.temperature == common; });
  if (equal && common != 1) add("--temperature", fmt::format("{}", common));
  for (size_t i = 0; i < recipe.size(); ++i) {
    const FactorOptions& factor = prior.factors[i];
    const FactorRecipe& entry = recipe[i];
    if (entry.component >= 0)
      add("--fix", fmt::format("{}={}", factor.name, factor.component_name(entry.component)));
    if (entry.seed != seed) add("--redraw", fmt::format("{}={}", factor.name, entry.seed));
    if (!equal && entry.temperature != 1)
      add("--temperature", fmt::format("{}={}", factor.name, entry.temperature));
    for (const RecipeOffset& offset : entry.offsets)
      add("--offset", fmt::format("{}:{}={}", factor.name, offset.dimension, offset.stddevs));
  }
  return text;
}

std::string shell_quoted(const std::string& word) {
  const auto plain = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_-./:=+,@%").find(letter) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace facet
