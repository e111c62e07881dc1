#include "facet/report/figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/model/generate.h"
#include "facet/prior/sampling.h"
#include "facet/report/font.h"

namespace facet {

namespace {

constexpr int64_t kCommonSide = 64;    // of an image in a picture
constexpr int64_t kLargestCell = 256;  // where long labels ask for more
constexpr size_t kMostCombinations = 64;
constexpr int64_t kBlocksInARow = 4;

/// Numbers [...] as U8 with `darkest` black and `brightest` white.
torch::Tensor stretch(const torch::Tensor& numbers, double darkest, double brightest) {
  const double range = std::max(brightest - darkest, 1e-12);
  return ((numbers - darkest) * (255 / range)).round().clamp(0, 255).to(kUInt8);
}

/// The components of one cell: what is held everywhere, and the cell's own two.
std::vector<int64_t> held_in_cell(std::vector<int64_t> fixed, const Axis& rows, size_t row,
                                  const Axis& columns, size_t column) {
  fixed[rows.factor] = rows.components[row];
  fixed[columns.factor] = columns.components[column];
  return fixed;
}

/// Latent vectors of all cells in reading order, `count` draws each, [rows * columns * count, Z].
LatentSample cell_latents(const FactorialMixture& prior, const std::vector<int64_t>& fixed,
                          const Axis& rows, const Axis& columns, int64_t count, const Key& key,
                          const FactorGroups& groups) {
  std::vector<LatentSample> cells;
  for (size_t row = 0; row < rows.components.size(); ++row)
    for (size_t column = 0; column < columns.components.size(); ++column)
      cells.push_back(sample_latents(key, prior, count,
                                     held_in_cell(fixed, rows, row, columns, column), groups));
  return join(cells);
}

/// Labels, columns and magnification for two factors.
GridOptions axis_layout(const Vae& model, const Axis& rows, const Axis& columns,
                        const FactorGroups& groups) {
  GridOptions layout;
  for (const int64_t k : rows.components)
    layout.row_labels.push_back(component_label(model.prior, rows.factor, k, groups));
  for (const int64_t k : columns.components)
    layout.column_labels.push_back(component_label(model.prior, columns.factor, k, groups));
  layout.columns = static_cast<int64_t>(columns.components.size());
  layout.scale = magnification(model.shape(), layout.column_labels);
  return layout;
}

std::string axis_title(const FactorialMixture& prior, const Axis& rows, const Axis& columns,
                       const std::vector<int64_t>& fixed, const FactorGroups& groups) {
  const std::string held = fixed_label(prior, fixed, groups);
  return fmt::format("{} down, {} across{}{}", prior.factors[rows.factor].name,
                     prior.factors[columns.factor].name, held.empty() ? "" : "; ", held);
}

/// Every choice of components of the named factors that are not held already.
std::vector<std::vector<int64_t>> named_combinations(const FactorialMixture& prior,
                                                     const std::vector<int64_t>& fixed) {
  std::vector<std::vector<int64_t>> all = {fixed};
  bool any = false;
  for (size_t i = 0; i < prior.size(); ++i) {
    if (!prior.factors[i].named()) continue;
    any = true;
    if (fixed[i] >= 0) continue;
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& combination : all)
      for (int64_t k = 0; k < prior.factors[i].components; ++k) {
        longer.push_back(combination);
        longer.back()[i] = k;
      }
    all = std::move(longer);
    if (all.size() > kMostCombinations)
      throw Error({.doing = "drawing combinations of named factors",
                   .found = fmt::format("{} and more", all.size()),
                   .expected = fmt::format("at most {}", kMostCombinations),
                   .cause = "--fix name=value holds a factor"});
  }
  if (!any)
    throw Error({.doing = "drawing combinations of named factors",
                 .found = "a model without named factors",
                 .expected = "a factor with a property",
                 .cause = "--rows NAME --cols NAME draws any two factors"});
  return all;
}

/// "with, smiling": the named factors' values.
std::string combination_label(const FactorialMixture& prior,
                              const std::vector<int64_t>& combination) {
  std::vector<std::string> values;
  for (size_t i = 0; i < prior.size(); ++i)
    if (prior.factors[i].named()) values.push_back(prior.factors[i].component_name(combination[i]));
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string combination_title(const FactorialMixture& prior, std::vector<int64_t> fixed,
                              const FactorGroups& groups) {
  std::vector<std::string> names;
  for (size_t i = 0; i < prior.size(); ++i) {
    if (!prior.factors[i].named()) continue;
    names.push_back(prior.factors[i].name);
    fixed[i] = -1;  // the columns say it
  }
  const std::string also = fixed_label(prior, fixed, groups);
  return fmt::format("{}; all else is fixed along a row{}{}", fmt::join(names, ", "),
                     also.empty() ? "" : ", ", also);
}

/// Images of one component: mean [C, H, W] and variance of its samples and the first of them.
struct Cluster {
  torch::Tensor mean, variance, samples;
};

Cluster sample_cluster(Vae& model, size_t factor, int64_t component, int64_t count, const Key& key,
                       const FactorGroups& groups) {
  std::vector<int64_t> fixed(model.prior.size(), -1);
  fixed[factor] = component;
  // One key for all components: rows differ in the component and in nothing else.
  const torch::Tensor pixels =
      decode_means(model, sample_latents(key, model.prior, count, fixed, groups).z);
  const torch::Tensor numbers = pixels.to(kFloat32);
  return {numbers.mean(0), numbers.var(0, /*unbiased=*/false), pixels.narrow(0, 0, kShownSamples)};
}

/// z of a sheet of samples, [count, Z].
LatentSample sample_latents_of(const Vae& model, const SampleOptions& options, const Key& key) {
  return options.recipe.empty()
             ? sample_latents(key, model.prior, options.count, options.fixed, options.groups)
             : draw_recipe(model.prior, options.recipe, options.count);
}

/// Adds three rows to a figure: the mean, the standard deviation and a sample of p(x|z), with a
/// column for each row of z.
void add_distributions(Vae& model, const torch::Tensor& z, const Key& key, Figure& figure) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor stddev = decode_stddevs(model, z);
  // Stretched between the extremes: they have a floor, and differences are what one sees.
  const auto smallest = stddev.min().item<double>(), largest = stddev.max().item<double>();
  for (Image& cell :
       to_images(torch::cat({decode_means(model, z), stretch(stddev, smallest, largest),
                             decode_samples(model, z, key)})))
    figure.cells.push_back(std::move(cell));
  for (const std::string& label :
       {std::string("mean"), fmt::format("stddev {:.0f} to {:.0f} of 255", smallest, largest),
        std::string("sample")})
    figure.layout.row_labels.push_back(label);
  figure.layout.columns = z.size(0);
  figure.layout.scale = magnification(model.shape());
}

}  // namespace

Image draw(const Figure& figure) { return draw_grid(figure.cells, figure.layout); }

int64_t magnification(const ImageShape& shape, const std::vector<std::string>& labels) {
  const int64_t side = std::max(shape.height, shape.width);
  const int64_t common = std::max<int64_t>(1, kCommonSide / side);
  int64_t widest = 0;
  for (const std::string& label : labels) widest = std::max(widest, text_width(label) + 1);
  const int64_t for_labels = (widest + shape.width - 1) / shape.width;
  return std::max(common, std::min(for_labels, kLargestCell / side));
}

std::vector<int64_t> heaviest_components(const FactorPosterior& posterior, int64_t limit) {
  const torch::Tensor counts = posterior.counts.to(torch::kCPU).contiguous();
  const double* weight = counts.data_ptr<double>();
  std::vector<int64_t> order(static_cast<size_t>(counts.size(0)));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return weight[a] > weight[b]; });
  order.resize(std::min(order.size(), static_cast<size_t>(limit)));
  return order;
}

bool is_living(const FactorialMixture& prior, size_t factor, int64_t component) {
  return prior.held_images(factor)[component].item<double>() > 1.0;
}

const Groups& groups_of(const FactorGroups& groups, size_t factor) {
  static const Groups none;
  return factor < groups.size() ? groups[factor] : none;
}

std::string component_label(const FactorialMixture& prior, size_t factor, int64_t component,
                            const FactorGroups& groups) {
  if (!groups_of(groups, factor).empty()) return fmt::format("group {}", component);
  return prior.factors[factor].component_name(component) +
         (is_living(prior, factor, component) ? "" : " (dead)");
}

std::string fixed_label(const FactorialMixture& prior, const std::vector<int64_t>& fixed,
                        const FactorGroups& groups) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < fixed.size(); ++i)
    if (fixed[i] >= 0)
      parts.push_back(prior.factors[i].name + "=" +
                      (groups_of(groups, i).empty() ? prior.factors[i].component_name(fixed[i])
                                                    : component_label(prior, i, fixed[i], groups)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<int64_t> spread_indices(int64_t available, int64_t count) {
  std::vector<int64_t> indices;
  count = std::min(count, available);
  for (int64_t n = 0; n < count; ++n) indices.push_back(n * available / count);
  return indices;
}

Figure sample_figure(Vae& model, const SampleOptions& options) {
  const Key key = Key(options.seed).fold("samples");
  const LatentSample samples = sample_latents_of(model, options, key);
  GridOptions layout;
  layout.columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(options.count))));
  layout.scale = options.scale > 0 ? options.scale
                 : options.bare    ? 1
                                   : magnification(model.shape());
  if (options.bare)
    layout.gap = 0;
  else
    layout.title = fixed_label(model.prior, options.fixed, options.groups);
  return {to_images(options.draw_pixels ? decode_samples(model, samples.z, key.fold("pixels"))
                                        : decode_pictures(model, samples, options.refinement,
                                                          PictureNoise::each(key, options.count))),
          layout};
}

Figure distribution_figure(Vae& model, const SampleOptions& options) {
  const Key key = Key(options.seed).fold("samples");
  Figure figure;
  figure.layout.title = fixed_label(model.prior, options.fixed, options.groups);
  add_distributions(model, sample_latents_of(model, options, key).z, key.fold("pixels"), figure);
  return figure;
}

Axis heaviest_axis(const FactorialMixture& prior, size_t factor, int64_t limit) {
  std::vector<int64_t> heaviest = heaviest_components(prior.posteriors[factor], limit);
  std::sort(heaviest.begin(), heaviest.end());
  return {factor, heaviest};
}

Figure average_figure(Vae& model, const std::vector<int64_t>& fixed, const Axis& rows,
                      const Axis& columns, int64_t average, uint64_t seed,
                      const FactorGroups& groups, const Refinement& refinement) {
  const Key key = Key(seed).fold("grid");
  std::vector<torch::Tensor> cells;
  for (size_t row = 0; row < rows.components.size(); ++row) {
    const LatentSample samples = cell_latents(
        model.prior, fixed, {rows.factor, {rows.components[row]}}, columns, average, key, groups);
    const PictureNoise noise = PictureNoise::cycling(key, samples.z.size(0), average);
    const torch::Tensor pixels = decode_pictures(model, samples, refinement, noise);
    for (const torch::Tensor& cell : pixels.split(average))
      cells.push_back(stretch(cell.to(kFloat32).mean(0, /*keepdim=*/true), 0, 255));
  }
  GridOptions layout = axis_layout(model, rows, columns, groups);
  layout.title = axis_title(model.prior, rows, columns, fixed, groups) +
                 (average == 1 ? "; one sample per cell"
                               : fmt::format("; mean of {} samples per cell", average));
  return {to_images(torch::cat(cells)), layout};
}

Figure block_figure(Vae& model, const std::vector<int64_t>& fixed, const Axis& rows,
                    const Axis& columns, int64_t blocks, uint64_t seed, const FactorGroups& groups,
                    const Refinement& refinement) {
  const FactorialMixture& prior = model.prior;
  const Key key = Key(seed).fold("grid");
  Figure figure;
  for (int64_t block = 0; block < blocks; ++block) {
    const Key block_key = key.fold(static_cast<uint64_t>(block));
    const LatentSample samples = cell_latents(prior, fixed, rows, columns, 1, block_key, groups);
    figure.cells.push_back(
        draw_grid(to_images(decode_pictures(model, samples, refinement,
                                            PictureNoise::shared(block_key, samples.z.size(0)))),
                  axis_layout(model, rows, columns, groups)));
    const torch::Tensor drawn =
        sample_latents(block_key, prior, 1, held_in_cell(fixed, rows, 0, columns, 0), groups)
            .components;
    std::vector<int64_t> others(prior.size(), -1);
    for (size_t i = 0; i < prior.size(); ++i)
      if (i != rows.factor && i != columns.factor)
        others[i] = drawn[0][static_cast<int64_t>(i)].item<int64_t>();
    figure.layout.captions.push_back(fixed_label(prior, others));
  }
  figure.layout.columns = std::min(blocks, kBlocksInARow);
  figure.layout.gap = 8;
  figure.layout.title = axis_title(prior, rows, columns, fixed, groups);
  return figure;
}

Figure combination_figure(Vae& model, const std::vector<int64_t>& fixed, int64_t draws,
                          uint64_t seed, const FactorGroups& groups, const Refinement& refinement) {
  const FactorialMixture& prior = model.prior;
  const Key key = Key(seed).fold("grid");
  const auto combinations = named_combinations(prior, fixed);
  GridOptions layout;
  for (const std::vector<int64_t>& combination : combinations)
    layout.column_labels.push_back(combination_label(prior, combination));
  std::vector<LatentSample> samples;
  for (int64_t row = 0; row < draws; ++row)
    for (const std::vector<int64_t>& combination : combinations)
      samples.push_back(
          sample_latents(key.fold(static_cast<uint64_t>(row)), prior, 1, combination, groups));
  layout.columns = static_cast<int64_t>(combinations.size());
  layout.scale = magnification(model.shape(), layout.column_labels);
  layout.title = combination_title(prior, fixed, groups);
  const PictureNoise noise = PictureNoise::by_row(key, draws * layout.columns, layout.columns);
  return {to_images(decode_pictures(model, join(samples), refinement, noise)), layout};
}

Figure cluster_figure(Vae& model, size_t factor, const std::vector<int64_t>& components,
                      int64_t average, uint64_t seed, const FactorGroups& groups) {
  const FactorialMixture& prior = model.prior;
  const Key key = Key(seed).fold("clusters");
  const torch::Tensor weights = prior.posteriors[factor].expected_weights();
  const Groups& merged = groups_of(groups, factor);
  std::vector<Cluster> clusters;
  double largest = 0;
  GridOptions layout;
  for (const int64_t component : components) {
    clusters.push_back(sample_cluster(model, factor, component, average, key, groups));
    const bool one = merged.empty();
    if (!one || is_living(prior, factor, component))  // a dead one's samples are anywhere
      largest = std::max(largest, clusters.back().variance.max().item<double>());
    double weight = 0;
    for (const int64_t k :
         one ? std::vector<int64_t>{component} : merged[static_cast<size_t>(component)])
      weight += weights[k].item<double>();
    layout.row_labels.push_back(fmt::format(
        "{}  {:.1f} %", component_label(prior, factor, component, groups), 100 * weight));
  }
  std::vector<torch::Tensor> cells;
  for (const Cluster& cluster : clusters) {
    cells.push_back(stretch(cluster.mean, 0, 255).unsqueeze(0));
    cells.push_back(stretch(cluster.variance, 0, largest).unsqueeze(0));
    cells.push_back(cluster.samples);
  }
  layout.columns = 2 + kShownSamples;
  layout.column_labels = {"mean", "variance"};
  layout.column_labels.resize(2 + kShownSamples, "sample");
  layout.scale = magnification(model.shape());
  layout.title = merged.empty() ? fmt::format("components of {}", prior.factors[factor].name)
                                : fmt::format("components of {} in {} groups",
                                              prior.factors[factor].name, merged.size());
  return {to_images(torch::cat(cells)), layout};
}

Figure reconstruction_figure(Vae& model, const torch::Tensor& pixels,
                             const std::vector<std::string>& labels, uint64_t seed,
                             const Refinement& refinement) {
  const Key key = Key(seed).fold("reconstruct");
  const torch::Tensor z = encode_pixels(model, pixels).mean;
  Figure figure;
  figure.cells = to_images(pixels);
  figure.layout.row_labels = {"input"};
  figure.layout.column_labels = labels;
  if (refinement) {
    for (Image& cell : to_images(
             decode_pictures_of(model, pixels, z, refinement, PictureNoise::each(key, z.size(0)))))
      figure.cells.push_back(std::move(cell));
    figure.layout.row_labels.emplace_back("refined");
  }
  add_distributions(model, z, key, figure);
  return figure;
}

}  // namespace facet
