#include "facet/serve/reading.h"

#include <fmt/format.h>

#include "facet/core/torch.h"

namespace facet {

namespace {

std::vector<RecipeOffset> read_offsets(const FactorOptions& factor, const RequestValue& value) {
  std::vector<RecipeOffset> offsets;
  for (const RequestValue& element : value.elements(0, 64)) {
    element.require_keys({"dimension", "stddevs"});
    offsets.push_back({element.at("dimension").integer(0, factor.dimensions - 1),
                       element.at("stddevs").number(-kLargestOffset, kLargestOffset)});
    for (size_t i = 0; i + 1 < offsets.size(); ++i)
      if (offsets[i].dimension == offsets.back().dimension)
        element.at("dimension").fail("each dimension at most once");
  }
  return offsets;
}

void read_factor_state(const FactorOptions& factor, const RequestValue& value,
                       FactorRecipe& recipe) {
  value.require_keys({"component", "seed", "temperature", "offsets"});
  if (value.has("component")) {
    const RequestValue component = value.at("component");
    if (!component.is_text() || component.text() != "draw")
      recipe.component = read_component(factor, component);
  }
  if (value.has("seed"))
    recipe.seed = static_cast<uint64_t>(value.at("seed").integer(0, kLargestSeed));
  if (value.has("temperature"))
    recipe.temperature = value.at("temperature").number(0, kLargestTemperature);
  if (value.has("offsets")) recipe.offsets = read_offsets(factor, value.at("offsets"));
}

}  // namespace

int64_t read_component(const FactorOptions& factor, const RequestValue& value) {
  if (!value.is_text()) return value.integer(0, factor.components - 1);
  return at_place(value.where(), [&] { return factor.component_of(value.text()); });
}

State read_state(const FactorialMixture& prior, const RequestValue& value) {
  value.require_keys({"seed", "temperature", "factors"});
  State state;
  if (value.has("seed"))
    state.seed = static_cast<uint64_t>(value.at("seed").integer(0, kLargestSeed));
  state.recipe = plain_recipe(prior, state.seed);
  if (value.has("temperature"))
    for (FactorRecipe& entry : state.recipe)
      entry.temperature = value.at("temperature").number(0, kLargestTemperature);
  if (value.has("factors"))
    for (const auto& [name, factor] :
         value.at("factors").entries(static_cast<int64_t>(prior.size()))) {
      const size_t i = at_place(factor.where(), [&, &key = name] { return prior.index_of(key); });
      read_factor_state(prior.factors[i], factor, state.recipe[i]);
    }
  return state;
}

torch::Tensor read_row(const RequestValue& value, int64_t size, double largest) {
  const torch::Tensor row = torch::empty({1, size}, kFloat64);
  double* next = row.data_ptr<double>();
  for (const RequestValue& element : value.elements(size, size))
    *next++ = element.number(-largest, largest);
  return row;
}

std::vector<int64_t> read_changes(const FactorialMixture& prior, const RequestValue& value) {
  std::vector<int64_t> changes(prior.size(), -1);
  for (const auto& [name, component] : value.entries(static_cast<int64_t>(prior.size()))) {
    const size_t i = at_place(component.where(), [&, &key = name] { return prior.index_of(key); });
    changes[i] = read_component(prior.factors[i], component);
  }
  return changes;
}

void check_pixels(const ImageShape& shape, int64_t count, int64_t scale, const std::string& where) {
  const int64_t pixels = count * shape.height * shape.width * scale * scale;
  if (pixels > kMostPicturePixels && (count > 1 || scale > 1))
    throw ApiError(400,
                   to_string({.doing = "drawing pictures",
                              .found = fmt::format("{} pixels in all", pixels),
                              .expected = fmt::format("at most {}", kMostPicturePixels),
                              .cause = "ask for fewer pictures or a smaller scale"}),
                   where);
}

Look read_look(const RequestValue& value, const ImageShape& shape, int64_t count) {
  Look look;
  if (value.has("scale")) look.scale = value.at("scale").integer(1, kLargestPictureScale);
  check_pixels(shape, count, look.scale, "scale");
  if (value.has("format")) {
    const std::string format = value.at("format").text();
    if (format != "json" && format != "png") value.at("format").fail("'json' or 'png'");
    look.plain_png = format == "png";
    if (look.plain_png && count != 1) value.at("format").fail("'json' for more than one picture");
  }
  return look;
}

}  // namespace facet
