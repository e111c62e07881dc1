// `facet grid RUN`: how factors combine. Two factors down and across, with a mean over many samples
// in each cell, or block by block with everything else fixed as in the paper's first figure; or all
// combinations of the named factors, one draw of the others per row.
#include <fmt/format.h>

#include "cli/picture_options.h"
#include "facet/core/error.h"

namespace facet {

namespace {

struct GridArguments : PictureArguments {
  GridRequest request;
  bool combinations = false;
};

void require_factors(const GridArguments& arguments) {
  if (arguments.combinations) return;
  for (const auto& [option, name] : {std::pair("--rows", arguments.request.rows),
                                     std::pair("--cols", arguments.request.columns)})
    if (name.empty())
      throw Error({.doing = "drawing a grid",
                   .object = option,
                   .found = "no factor",
                   .expected = "--rows NAME --cols NAME, or --combinations"});
}

void run_grid(const GridArguments& arguments) {
  require_factors(arguments);
  DrawnPicture picture =
      grid_picture(load_run(arguments.run, {arguments.device}), arguments.request);
  picture.notes.emplace_back("grid");
  write_drawn(picture, arguments.output);
}

}  // namespace

void add_grid_command(const Command& program) {
  auto arguments = std::make_shared<GridArguments>();
  const Command command = program.command("grid", "Show how two or more factors combine");
  add_picture_options(command, *arguments, arguments->request.seed);
  const Option combinations =
      command.flag("--combinations", arguments->combinations,
                   "All combinations of the named factors, one free draw a row");
  command.option("--rows-count", arguments->request.draws, "Rows of --combinations")
      .range(1, 200)
      .needs(combinations)
      .show_default();
  const auto for_two = [&](const Option& option) { return option.excludes(combinations); };
  for_two(
      command.option("--rows", arguments->request.rows, "The factor that changes down the rows"));
  for_two(command.option("--cols", arguments->request.columns, "The factor that changes across"));
  for_two(command.option("--row-range", arguments->request.row_range,
                         "Its components FIRST:LAST, both shown"));
  for_two(command.option("--col-range", arguments->request.column_range, "The same across"));
  for_two(command.option("--limit", arguments->request.limit,
                         "Without a range: so many of the heaviest components"))
      .range(1, 200)
      .show_default();
  const Option blocks = for_two(command.option(
      "--blocks", arguments->request.blocks,
      "So many blocks, each with one draw of all other factors, in place of averages"));
  blocks.range(1, 100);
  const Option refined = add_refine_options(command, arguments->request.refine);
  for_two(command.option("--average", arguments->request.average,
                         "Samples behind each cell; a refined cell is one"))
      .range(1, 100000)
      .excludes(blocks)
      .excludes(refined)
      .show_default();
  command.repeated("--fix", arguments->request.fixed, "Fix a factor at a component, name=value");
  command
      .option("--merge", arguments->request.merge,
              "Merge the components of the free factors that are shown or fixed into so many "
              "groups each; ranges and numbers are then those of groups")
      .range(1, 10000);
  command.run([arguments] { run_grid(*arguments); });
}

}  // namespace facet
