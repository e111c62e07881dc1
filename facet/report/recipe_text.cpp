#include "facet/report/recipe_text.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/shell.h"

namespace facet {

namespace {

constexpr const char* kMakingRecipe = "making a recipe";

[[noreturn]] void fail(const std::string& object, const std::string& found,
                       const std::string& expected) {
  throw Error({.doing = kMakingRecipe, .object = object, .found = found, .expected = expected});
}

/// The two sides of the last '='.
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
  const auto [place, stddevs] = sides(setting, expected);
  const size_t colon = place.rfind(':');
  if (colon == std::string::npos) fail(setting, "no ':'", expected);
  const size_t i = prior.index_of(place.substr(0, colon));
  recipe[i].offsets.push_back(
      {parse_number<int64_t>(setting, place.substr(colon + 1), 0,
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
  const bool alike = std::all_of(recipe.begin(), recipe.end(),
                                 [&](const auto& entry) { return entry.temperature == common; });
  if (alike && common != 1) add("--temperature", fmt::format("{}", common));
  for (size_t i = 0; i < recipe.size(); ++i) {
    const FactorOptions& factor = prior.factors[i];
    const FactorRecipe& entry = recipe[i];
    if (entry.component >= 0)
      add("--fix", fmt::format("{}={}", factor.name, factor.component_name(entry.component)));
    if (entry.seed != seed) add("--redraw", fmt::format("{}={}", factor.name, entry.seed));
    if (!alike && entry.temperature != 1)
      add("--temperature", fmt::format("{}={}", factor.name, entry.temperature));
    for (const RecipeOffset& offset : entry.offsets)
      add("--offset", fmt::format("{}:{}={}", factor.name, offset.dimension, offset.stddevs));
  }
  return text;
}

}  // namespace facet
