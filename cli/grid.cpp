// `facet grid RUN`: how factors combine. Two factors down and across, with a mean over many samples
// in each cell, or block by block with everything else held as in the paper's first figure; or all
// combinations of the named factors, one free draw a row. Cells of one picture share their random
// numbers, so that they differ in the components that their labels name and in nothing else.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/pictures.h"
#include "facet/core/error.h"
#include "facet/data/image_file.h"
#include "facet/model/editing.h"

namespace facet {

namespace {

constexpr size_t kMostCombinations = 64;
constexpr int64_t kBlocksInARow = 4;

struct GridArguments : PictureArguments {
  std::string rows, columns, row_range, column_range;
  std::vector<std::string> fixed;
  int64_t average = 100, limit = 10, blocks = 0, draws = 6;
  bool combinations = false;
};

/// A factor and those of its components that are laid out down or across.
struct Axis {
  size_t factor = 0;
  std::vector<int64_t> components;
};

/// "2:5" is 2, 3, 4, 5.
std::vector<int64_t> parse_range(const std::string& text, const std::string& option,
                                 int64_t components) {
  int64_t first = -1, last = -1;
  const size_t colon = text.find(':');
  const char* end = text.data() + text.size();
  const bool read =
      colon != std::string::npos &&
      std::from_chars(text.data(), text.data() + colon, first).ptr == text.data() + colon &&
      std::from_chars(text.data() + colon + 1, end, last).ptr == end;
  if (!read || first < 0 || last < first || last >= components)
    throw Error({.doing = "reading a range of components",
                 .object = option,
                 .found = text,
                 .expected = fmt::format("FIRST:LAST within 0:{}", components - 1)});
  std::vector<int64_t> range;
  for (int64_t k = first; k <= last; ++k) range.push_back(k);
  return range;
}

/// `side` is "row" or "col", as the options are called.
Axis make_axis(const FactorialMixture& prior, const std::string& side, const std::string& name,
               const std::string& range, int64_t limit) {
  if (name.empty())
    throw Error({.doing = "drawing a grid",
                 .object = fmt::format("--{}s", side),
                 .found = "no factor",
                 .expected = "--rows NAME --cols NAME, or --combinations"});
  const size_t factor = prior.index_of(name);
  const int64_t components = prior.factors[factor].components;
  if (!range.empty())
    return {factor, parse_range(range, fmt::format("--{}-range", side), components)};
  std::vector<int64_t> heaviest = heaviest_components(prior.posteriors[factor], limit);
  std::sort(heaviest.begin(), heaviest.end());
  if (static_cast<int64_t>(heaviest.size()) < components)
    fmt::print("the {} heaviest of {} components of '{}'\n", heaviest.size(), components, name);
  return {factor, heaviest};
}

/// The components of one cell: what is held everywhere, and the cell's own two.
std::vector<int64_t> held_in_cell(std::vector<int64_t> fixed, const Axis& rows, size_t row,
                                  const Axis& columns, size_t column) {
  fixed[rows.factor] = rows.components[row];
  fixed[columns.factor] = columns.components[column];
  return fixed;
}

/// Latent vectors of all cells in reading order, `count` draws each, [rows * columns * count, Z].
torch::Tensor cell_latents(const FactorialMixture& prior, const std::vector<int64_t>& fixed,
                           const Axis& rows, const Axis& columns, int64_t count, const Key& key) {
  std::vector<torch::Tensor> z;
  for (size_t row = 0; row < rows.components.size(); ++row)
    for (size_t column = 0; column < columns.components.size(); ++column)
      z.push_back(
          sample_latents(key, prior, count, held_in_cell(fixed, rows, row, columns, column)).z);
  return torch::cat(z);
}

/// Labels, columns and magnification for two factors.
GridOptions axis_options(const Vae& model, const Axis& rows, const Axis& columns) {
  GridOptions options;
  for (const int64_t k : rows.components)
    options.row_labels.push_back(component_label(model.prior, rows.factor, k));
  for (const int64_t k : columns.components)
    options.column_labels.push_back(component_label(model.prior, columns.factor, k));
  options.columns = static_cast<int64_t>(columns.components.size());
  options.scale = magnification(model.shape(), options.column_labels);
  return options;
}

std::string axis_title(const FactorialMixture& prior, const Axis& rows, const Axis& columns,
                       const std::vector<int64_t>& fixed) {
  const std::string held = fixed_label(prior, fixed);
  return fmt::format("{} down, {} across{}{}", prior.factors[rows.factor].name,
                     prior.factors[columns.factor].name, held.empty() ? "" : "; ", held);
}

/// The paper's K x K figure: each cell the mean over `average` samples with all else drawn.
Image draw_averages(Vae& model, const std::vector<int64_t>& fixed, const Axis& rows,
                    const Axis& columns, int64_t average, const Key& key) {
  std::vector<torch::Tensor> cells;
  for (size_t row = 0; row < rows.components.size(); ++row) {
    const torch::Tensor pixels =
        decode_means(model, cell_latents(model.prior, fixed, {rows.factor, {rows.components[row]}},
                                         columns, average, key));
    for (const torch::Tensor& cell : pixels.split(average))
      cells.push_back(stretch(cell.to(torch::kFloat32).mean(0, /*keepdim=*/true), 0, 255));
  }
  GridOptions options = axis_options(model, rows, columns);
  options.title =
      axis_title(model.prior, rows, columns, fixed) +
      (average == 1 ? "; one sample a cell" : fmt::format("; mean of {} samples a cell", average));
  return draw_grid(to_images(torch::cat(cells)), options);
}

/// The paper's first figure: in a block the other factors' parts of z are drawn once, and so is the
/// part of each row and of each column; a block is their Cartesian product.
Image draw_blocks(Vae& model, const std::vector<int64_t>& fixed, const Axis& rows,
                  const Axis& columns, int64_t blocks, const Key& key) {
  const FactorialMixture& prior = model.prior;
  std::vector<Image> pictures;
  GridOptions outer;
  for (int64_t block = 0; block < blocks; ++block) {
    const Key block_key = key.fold(static_cast<uint64_t>(block));
    pictures.push_back(draw_grid(
        to_images(decode_means(model, cell_latents(prior, fixed, rows, columns, 1, block_key))),
        axis_options(model, rows, columns)));
    const torch::Tensor drawn =
        sample_latents(block_key, prior, 1, held_in_cell(fixed, rows, 0, columns, 0)).components;
    std::vector<int64_t> others(prior.size(), -1);
    for (size_t i = 0; i < prior.size(); ++i)
      if (i != rows.factor && i != columns.factor)
        others[i] = drawn[0][static_cast<int64_t>(i)].item<int64_t>();
    outer.captions.push_back(fixed_label(prior, others));
  }
  outer.columns = std::min(blocks, kBlocksInARow);
  outer.gap = 8;
  outer.title = axis_title(prior, rows, columns, fixed);
  return draw_grid(pictures, outer);
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

Image draw_combinations(Vae& model, const std::vector<int64_t>& fixed, int64_t draws,
                        const Key& key) {
  const FactorialMixture& prior = model.prior;
  const auto combinations = named_combinations(prior, fixed);
  std::vector<std::string> names;
  std::vector<int64_t> held = fixed;
  for (size_t i = 0; i < prior.size(); ++i) {
    if (!prior.factors[i].named()) continue;
    names.push_back(prior.factors[i].name);
    held[i] = -1;  // the columns say it
  }
  GridOptions options;
  for (const std::vector<int64_t>& combination : combinations) {
    std::vector<std::string> values;
    for (size_t i = 0; i < prior.size(); ++i)
      if (prior.factors[i].named())
        values.push_back(prior.factors[i].component_name(combination[i]));
    options.column_labels.push_back(fmt::format("{}", fmt::join(values, ", ")));
  }
  std::vector<torch::Tensor> z;
  for (int64_t row = 0; row < draws; ++row)
    for (const std::vector<int64_t>& combination : combinations)
      z.push_back(sample_latents(key.fold(static_cast<uint64_t>(row)), prior, 1, combination).z);
  options.columns = static_cast<int64_t>(combinations.size());
  options.scale = magnification(model.shape(), options.column_labels);
  const std::string also = fixed_label(prior, held);
  options.title = fmt::format("{}; a row holds all else{}{}", fmt::join(names, ", "),
                              also.empty() ? "" : ", ", also);
  return draw_grid(to_images(decode_means(model, torch::cat(z))), options);
}

Image draw_two_factors(Vae& model, const std::vector<int64_t>& fixed,
                       const GridArguments& arguments, const Key& key) {
  const FactorialMixture& prior = model.prior;
  const Axis rows = make_axis(prior, "row", arguments.rows, arguments.row_range, arguments.limit);
  const Axis columns =
      make_axis(prior, "col", arguments.columns, arguments.column_range, arguments.limit);
  const auto fail = [](const std::string& object, const std::string& found,
                       const std::string& expected) {
    throw Error(
        {.doing = "drawing a grid", .object = object, .found = found, .expected = expected});
  };
  if (rows.factor == columns.factor) fail(arguments.rows, "one factor twice", "two factors");
  for (const Axis& axis : {rows, columns})
    if (fixed[axis.factor] >= 0)
      fail(prior.factors[axis.factor].name, "a factor that is held with --fix",
           "a free one for rows and columns");
  return arguments.blocks > 0 ? draw_blocks(model, fixed, rows, columns, arguments.blocks, key)
                              : draw_averages(model, fixed, rows, columns, arguments.average, key);
}

void run_grid(const GridArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  const std::vector<int64_t> fixed = parse_fixed(run.model->prior, arguments.fixed);
  const Key key = Key(arguments.seed).fold("grid");
  write_png(arguments.output, arguments.combinations
                                  ? draw_combinations(*run.model, fixed, arguments.draws, key)
                                  : draw_two_factors(*run.model, fixed, arguments, key));
  fmt::print("grid in {}\n", arguments.output);
}

}  // namespace

void add_grid_command(CLI::App& program) {
  auto arguments = std::make_shared<GridArguments>();
  CLI::App* command = program.add_subcommand("grid", "Show how two or more factors combine");
  add_picture_options(*command, *arguments);
  CLI::Option* combinations =
      command->add_flag("--combinations", arguments->combinations,
                        "All combinations of the named factors, one free draw a row");
  command->add_option("--rows-count", arguments->draws, "Rows of --combinations")
      ->check(CLI::Range(1, 200))
      ->needs(combinations)
      ->capture_default_str();
  const auto for_two = [&](CLI::Option* option) { return option->excludes(combinations); };
  for_two(command->add_option("--rows", arguments->rows, "The factor that changes down the rows"));
  for_two(command->add_option("--cols", arguments->columns, "The factor that changes across"));
  for_two(command->add_option("--row-range", arguments->row_range,
                              "Its components FIRST:LAST, both shown"));
  for_two(command->add_option("--col-range", arguments->column_range, "The same across"));
  for_two(command->add_option("--limit", arguments->limit,
                              "Without a range: so many of the heaviest components"))
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  CLI::Option* blocks = for_two(command->add_option(
      "--blocks", arguments->blocks,
      "So many blocks, each with one draw of all other factors, in place of averages"));
  blocks->check(CLI::Range(1, 100));
  for_two(command->add_option("--average", arguments->average, "Samples behind each cell"))
      ->check(CLI::Range(1, 100000))
      ->excludes(blocks)
      ->capture_default_str();
  add_repeated_option(*command, "--fix", arguments->fixed,
                      "Hold a factor at a component, name=value");
  command->callback([arguments] { run_grid(*arguments); });
}

}  // namespace facet
