// `facet grid RUN`: how factors combine. Two factors down and across, with a mean over many samples
// in each cell, or block by block with everything else held as in the paper's first figure; or all
// combinations of the named factors, one free draw a row.
#include <charconv>

#include <fmt/format.h>

#include "cli/pictures.h"
#include "facet/core/error.h"
#include "facet/data/image_file.h"
#include "facet/model/editing.h"

namespace facet {

namespace {

struct GridArguments : PictureArguments {
  std::string rows, columns, row_range, column_range;
  std::vector<std::string> fixed;
  int64_t average = 100, limit = 10, blocks = 0, draws = 6;
  bool combinations = false;
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
  const Axis axis = heaviest_axis(prior, factor, limit);
  if (const auto shown = static_cast<int64_t>(axis.components.size()); shown < components)
    fmt::print("the {} heaviest of {} components of '{}'\n", shown, components, name);
  return axis;
}

Figure two_factors(Vae& model, const std::vector<int64_t>& fixed, const GridArguments& arguments) {
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
  return arguments.blocks > 0
             ? block_figure(model, fixed, rows, columns, arguments.blocks, arguments.seed)
             : average_figure(model, fixed, rows, columns, arguments.average, arguments.seed);
}

void run_grid(const GridArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  const std::vector<int64_t> fixed = parse_fixed(run.model->prior, arguments.fixed);
  const Figure figure = arguments.combinations
                            ? combination_figure(*run.model, fixed, arguments.draws, arguments.seed)
                            : two_factors(*run.model, fixed, arguments);
  write_picture(arguments.output, draw(figure));
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
