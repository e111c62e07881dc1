#include "facet/report/picture_requests.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/model/editing.h"
#include "facet/report/figures.h"
#include "facet/report/input_images.h"
#include "facet/report/recipe_text.h"

namespace facet {

namespace {

Recipe recipe_of(const SampleRequest& request, const FactorialMixture& prior,
                 const std::vector<int64_t>& fixed) {
  Recipe recipe = plain_recipe(prior, request.seed);
  for (size_t i = 0; i < fixed.size(); ++i) recipe[i].component = fixed[i];
  for (const std::string& setting : request.redrawn) set_recipe_seed(prior, recipe, setting);
  for (const std::string& setting : request.temperatures)
    set_recipe_temperature(prior, recipe, setting);
  for (const std::string& setting : request.offsets) add_recipe_offset(prior, recipe, setting);
  return recipe;
}

/// "2:5" is 2, 3, 4, 5.
std::vector<int64_t> parse_range(const std::string& text, int64_t components) {
  int64_t first = -1, last = -1;
  const size_t colon = text.find(':');
  const char* end = text.data() + text.size();
  const bool read =
      colon != std::string::npos &&
      std::from_chars(text.data(), text.data() + colon, first).ptr == text.data() + colon &&
      std::from_chars(text.data() + colon + 1, end, last).ptr == end;
  if (!read || first < 0 || last < first || last >= components)
    throw Error({.doing = "reading a range of components",
                 .object = text,
                 .found = "none of this factor",
                 .expected = fmt::format("FIRST:LAST within 0:{}", components - 1)});
  std::vector<int64_t> range;
  for (int64_t k = first; k <= last; ++k) range.push_back(k);
  return range;
}

Axis make_axis(const FactorialMixture& prior, const std::string& name, const ComponentRange& range,
               int64_t limit, std::vector<std::string>& notes) {
  const size_t factor = prior.index_of(name);
  const int64_t components = prior.factors[factor].components;
  if (!range.empty()) return {factor, parse_range(range, components)};
  const Axis axis = heaviest_axis(prior, factor, limit);
  if (const auto shown = static_cast<int64_t>(axis.components.size()); shown < components)
    notes.push_back(
        fmt::format("the {} heaviest of {} components of '{}'", shown, components, name));
  return axis;
}

Figure two_factors(Vae& model, const std::vector<int64_t>& fixed, const GridRequest& request,
                   std::vector<std::string>& notes) {
  const FactorialMixture& prior = model.prior;
  const Axis rows = make_axis(prior, request.rows, request.row_range, request.limit, notes);
  const Axis columns =
      make_axis(prior, request.columns, request.column_range, request.limit, notes);
  const auto refuse = [](const std::string& object, const std::string& found,
                         const std::string& expected) {
    throw Error(
        {.doing = "drawing a grid", .object = object, .found = found, .expected = expected});
  };
  if (rows.factor == columns.factor) refuse(request.rows, "one factor twice", "two factors");
  for (const Axis& axis : {rows, columns})
    if (fixed[axis.factor] >= 0)
      refuse(prior.factors[axis.factor].name, "a factor at a fixed component",
             "a free one for rows and columns");
  return request.blocks > 0
             ? block_figure(model, fixed, rows, columns, request.blocks, request.seed)
             : average_figure(model, fixed, rows, columns, request.average, request.seed);
}

/// The components that are named, heaviest first.
std::vector<int64_t> named_components(const FactorialMixture& prior, size_t factor,
                                      const std::vector<std::string>& names) {
  const FactorPosterior& posterior = prior.posteriors[factor];
  std::vector<int64_t> wanted, chosen;
  for (const std::string& name : names) wanted.push_back(prior.factors[factor].component_of(name));
  for (const int64_t component : heaviest_components(posterior, posterior.counts.size(0)))
    if (std::find(wanted.begin(), wanted.end(), component) != wanted.end())
      chosen.push_back(component);
  return chosen;
}

}  // namespace

Image sample_picture(const LoadedRun& run, const SampleRequest& request) {
  Vae& model = *run.model;
  const std::vector<int64_t> fixed = parse_fixed(model.prior, request.fixed);
  const SampleOptions options{.count = request.count,
                              .seed = request.seed,
                              .fixed = fixed,
                              .recipe = recipe_of(request, model.prior, fixed),
                              .draw_pixels = request.pixels == "sample",
                              .bare = request.bare,
                              .scale = request.scale};
  return draw(request.pixels == "distribution" ? distribution_figure(model, options)
                                               : sample_figure(model, options));
}

DrawnPicture grid_picture(const LoadedRun& run, const GridRequest& request) {
  const std::vector<int64_t> fixed = parse_fixed(run.model->prior, request.fixed);
  const bool combinations = request.rows.empty() && request.columns.empty();
  DrawnPicture picture;
  picture.image =
      draw(combinations ? combination_figure(*run.model, fixed, request.draws, request.seed)
                        : two_factors(*run.model, fixed, request, picture.notes));
  return picture;
}

int64_t shown_cluster_samples() { return kShownSamples; }

DrawnPicture clusters_picture(const LoadedRun& run, const ClustersRequest& request) {
  const FactorialMixture& prior = run.model->prior;
  const size_t factor = prior.index_of(request.factor);
  const std::vector<int64_t> components =
      request.components.empty() ? heaviest_components(prior.posteriors[factor], request.limit)
                                 : named_components(prior, factor, request.components);
  return {draw(cluster_figure(*run.model, factor, components, request.average, request.seed)),
          {fmt::format("{} of {} components of '{}'", components.size(),
                       prior.factors[factor].components, request.factor)}};
}

DrawnPicture reconstruction_picture(const LoadedRun& run, const InputRequest& inputs,
                                    uint64_t seed) {
  InputImages images(run, inputs.resize);
  const std::vector<std::string> names = images.names(inputs);
  std::vector<std::string> labels;
  for (const std::string& name : names) labels.push_back(short_name(name));
  const torch::Tensor pixels = images.read(names);
  std::vector<std::string> notes = images.notes();
  notes.push_back(fmt::format("{} reconstruction{}", names.size(), names.size() == 1 ? "" : "s"));
  return {draw(reconstruction_figure(*run.model, pixels, labels, seed)), notes};
}

}  // namespace facet
