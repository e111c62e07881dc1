#include "facet/report/picture_requests.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/model/editing.h"
#include "facet/prior/merge_tree.h"
#include "facet/report/figures.h"
#include "facet/report/input_images.h"
#include "facet/report/recipe_text.h"
#include "facet/report/tree_figure.h"

namespace facet {

namespace {

/// The factors that settings such as "glasses=with" fix.
std::vector<size_t> fixed_factors(const std::vector<int64_t>& fixed) {
  std::vector<size_t> factors;
  for (size_t i = 0; i < fixed.size(); ++i)
    if (fixed[i] >= 0) factors.push_back(i);
  return factors;
}

/// `count` groups of those factors that are free; none for a count of 0. An Error if no factor is
/// free.
FactorGroups merged_groups(const FactorialMixture& prior, int64_t count,
                           const std::vector<size_t>& factors) {
  if (count == 0) return {};
  FactorGroups groups(prior.size());
  bool any = false;
  for (const size_t i : factors) {
    if (prior.factors[i].named()) continue;
    groups[i] = merge_tree(prior.posteriors[i], prior.hyperpriors[i]).cut(count);
    any = true;
  }
  if (!any)
    throw Error({.doing = "merging components",
                 .object = fmt::format("--merge {}", count),
                 .found = "no free factor that is fixed or shown",
                 .expected = "at least one",
                 .cause = "the components of a named factor are its values and stay apart"});
  return groups;
}

/// An Error if a factor is fixed at a group that it does not have.
void require_groups(const FactorialMixture& prior, const std::vector<int64_t>& fixed,
                    const FactorGroups& groups) {
  for (const size_t i : fixed_factors(fixed)) {
    const auto count = static_cast<int64_t>(groups_of(groups, i).size());
    if (count > 0 && fixed[i] >= count)
      throw Error({.doing = "choosing a group",
                   .object = fmt::format("{}={}", prior.factors[i].name, fixed[i]),
                   .found = "no such group",
                   .expected = fmt::format("0 to {}", count - 1)});
  }
}

Recipe recipe_of(const SampleRequest& request, const FactorialMixture& prior,
                 const std::vector<int64_t>& fixed, const FactorGroups& groups) {
  Recipe recipe = plain_recipe(prior, request.seed);
  for (const size_t i : fixed_factors(fixed)) {
    const Groups& merged = groups_of(groups, i);
    if (merged.empty())
      recipe[i].component = fixed[i];
    else
      recipe[i].among = merged[static_cast<size_t>(fixed[i])];
  }
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
               int64_t limit, const FactorGroups& groups, std::vector<std::string>& notes) {
  const size_t factor = prior.index_of(name);
  const auto merged = static_cast<int64_t>(groups_of(groups, factor).size());
  const int64_t components = merged > 0 ? merged : prior.factors[factor].components;
  if (!range.empty()) return {factor, parse_range(range, components)};
  if (merged > 0)  // heaviest first already
    return {factor, parse_range(fmt::format("0:{}", std::min(merged, limit) - 1), merged)};
  const Axis axis = heaviest_axis(prior, factor, limit);
  if (const auto shown = static_cast<int64_t>(axis.components.size()); shown < components)
    notes.push_back(
        fmt::format("the {} heaviest of {} components of '{}'", shown, components, name));
  return axis;
}

Figure two_factors(Vae& model, const std::vector<int64_t>& fixed, const GridRequest& request,
                   const Refinement& refinement, std::vector<std::string>& notes) {
  const FactorialMixture& prior = model.prior;
  std::vector<size_t> factors = fixed_factors(fixed);
  for (const std::string& name : {request.rows, request.columns})
    factors.push_back(prior.index_of(name));
  const FactorGroups groups = merged_groups(prior, request.merge, factors);
  require_groups(prior, fixed, groups);
  const Axis rows = make_axis(prior, request.rows, request.row_range, request.limit, groups, notes);
  const Axis columns =
      make_axis(prior, request.columns, request.column_range, request.limit, groups, notes);
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
  // The mean of sharp images would be blurred again.
  const int64_t average = refinement ? 1 : request.average;
  return request.blocks > 0 ? block_figure(model, fixed, rows, columns, request.blocks,
                                           request.seed, groups, refinement)
                            : average_figure(model, fixed, rows, columns, average, request.seed,
                                             groups, refinement);
}

Figure all_combinations(Vae& model, const std::vector<int64_t>& fixed, const GridRequest& request,
                        const Refinement& refinement) {
  const FactorGroups groups = merged_groups(model.prior, request.merge, fixed_factors(fixed));
  require_groups(model.prior, fixed, groups);
  return combination_figure(model, fixed, request.draws, request.seed, groups, refinement);
}

/// The groups with these numbers, heaviest first; all if there are none.
std::vector<int64_t> numbered_groups(const std::vector<std::string>& numbers, int64_t count) {
  std::vector<bool> wanted(static_cast<size_t>(count), numbers.empty());
  for (const std::string& text : numbers) {
    int64_t number = -1;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, number).ptr != end || number < 0 || number >= count)
      throw Error({.doing = "choosing a group",
                   .object = text,
                   .found = "no such group",
                   .expected = fmt::format("0 to {}", count - 1)});
    wanted[static_cast<size_t>(number)] = true;
  }
  std::vector<int64_t> chosen;
  for (int64_t g = 0; g < count; ++g)
    if (wanted[static_cast<size_t>(g)]) chosen.push_back(g);
  return chosen;
}

DrawnPicture group_picture(Vae& model, size_t factor, const ClustersRequest& request) {
  const FactorGroups groups = merged_groups(model.prior, request.merge, {factor});
  std::vector<int64_t> shown = numbered_groups(request.components, request.merge);
  if (request.components.empty())
    shown.resize(std::min(shown.size(), static_cast<size_t>(request.limit)));
  size_t living = 0;
  for (const std::vector<int64_t>& group : groups[factor]) living += group.size();
  return {draw(cluster_figure(model, factor, shown, request.average, request.seed, groups)),
          {fmt::format("{} of {} groups of the {} living components of '{}'", shown.size(),
                       request.merge, living, request.factor)}};
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
  const FactorGroups groups = merged_groups(model.prior, request.merge, fixed_factors(fixed));
  require_groups(model.prior, fixed, groups);
  const SampleOptions options{.count = request.count,
                              .seed = request.seed,
                              .fixed = fixed,
                              .groups = groups,
                              .recipe = recipe_of(request, model.prior, fixed, groups),
                              .draw_pixels = request.pixels == "sample",
                              .bare = request.bare,
                              .scale = request.scale,
                              .refinement = load_refinement(run, request.refine)};
  return draw(request.pixels == "distribution" ? distribution_figure(model, options)
                                               : sample_figure(model, options));
}

DrawnPicture grid_picture(const LoadedRun& run, const GridRequest& request) {
  const std::vector<int64_t> fixed = parse_fixed(run.model->prior, request.fixed);
  const bool combinations = request.rows.empty() && request.columns.empty();
  const Refinement refinement = load_refinement(run, request.refine);
  DrawnPicture picture;
  picture.image =
      draw(combinations ? all_combinations(*run.model, fixed, request, refinement)
                        : two_factors(*run.model, fixed, request, refinement, picture.notes));
  return picture;
}

int64_t shown_cluster_samples() { return kShownSamples; }

DrawnPicture clusters_picture(const LoadedRun& run, const ClustersRequest& request) {
  const FactorialMixture& prior = run.model->prior;
  const size_t factor = prior.index_of(request.factor);
  if (request.merge > 0) return group_picture(*run.model, factor, request);
  const std::vector<int64_t> components =
      request.components.empty() ? heaviest_components(prior.posteriors[factor], request.limit)
                                 : named_components(prior, factor, request.components);
  return {draw(cluster_figure(*run.model, factor, components, request.average, request.seed)),
          {fmt::format("{} of {} components of '{}'", components.size(),
                       prior.factors[factor].components, request.factor)}};
}

DrawnPicture tree_picture(const LoadedRun& run, const TreeRequest& request) {
  const size_t factor = run.model->prior.index_of(request.factor);
  const Dendrogram tree = component_dendrogram(*run.model, factor, request.limit, request.seed);
  return {draw_dendrogram(tree), {tree.title}};
}

DrawnPicture reconstruction_picture(const LoadedRun& run, const InputRequest& inputs, uint64_t seed,
                                    const RefineChoice& refine) {
  const Refinement refinement = load_refinement(run, refine);
  InputImages images(run, inputs.resize);
  const std::vector<std::string> names = images.names(inputs);
  std::vector<std::string> labels;
  for (const std::string& name : names) labels.push_back(short_name(name));
  const torch::Tensor pixels = images.read(names);
  std::vector<std::string> notes = images.notes();
  notes.push_back(fmt::format("{} reconstruction{}", names.size(), names.size() == 1 ? "" : "s"));
  return {draw(reconstruction_figure(*run.model, pixels, labels, seed, refinement)), notes};
}

}  // namespace facet
