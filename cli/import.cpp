// `facet import idx|images|portraits`: from the forms in which people have images to a pack.
#include <limits>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/error.h"
#include "facet/data/import_files.h"

namespace facet {

namespace {

void add_table_options(const Command& command, TableOptions& options) {
  command.repeated("--property", options.properties,
                   "A column to take as a property, NAME or NAME=VALUE,VALUE,...; may be "
                   "repeated; without it every column is one");
  command.option("--key-column", options.key_column, "Column that names the image");
  command.option("--split-column", options.split_column,
                 "Column with train, valid, test or 0, 1, 2");
  command.option("--valid", options.valid_fraction, "Share of valid images, divided at random")
      .range(0.0, 1.0)
      .show_default();
  command.option("--test", options.test_fraction, "Share of test images, divided at random")
      .range(0.0, 1.0)
      .show_default();
  command.option("--seed", options.seed, "Seed of the random division").show_default();
}

void require_fractions(const TableOptions& options) {
  if (options.valid_fraction + options.test_fraction < 1.0) return;
  throw Error({.doing = "dividing images",
               .object = "--valid, --test",
               .found = fmt::format("{} and {}", options.valid_fraction, options.test_fraction),
               .expected = "shares that leave some images to train on"});
}

struct IdxArguments {
  std::string images[3], labels[3], all, table, name = "label", output;
  TableOptions options;
};

void run_idx(const IdxArguments& arguments) {
  std::vector<IdxPart> parts;
  for (size_t s = 0; s < 3; ++s) {
    if (arguments.images[s].empty() && !arguments.labels[s].empty())
      throw Error({.doing = "importing idx labels",
                   .object = arguments.labels[s],
                   .found = "labels without images",
                   .expected = fmt::format("--{} with their images", split_names[s])});
    if (!arguments.images[s].empty())
      parts.push_back({static_cast<Split>(s), arguments.images[s], arguments.labels[s]});
  }
  const bool by_table = !arguments.all.empty() || !arguments.table.empty();
  if (by_table ? !parts.empty() || arguments.all.empty() || arguments.table.empty() : parts.empty())
    throw Error({.doing = "importing idx files",
                 .object = arguments.output,
                 .found = by_table ? "half of each way to name files" : "no file",
                 .expected = "--train, --valid, --test, or --images with --table"});
  fmt::print("{}\n", by_table ? import_idx_table(arguments.all, arguments.table, arguments.options,
                                                 arguments.output)
                              : import_idx_files(parts, arguments.name, arguments.output));
}

void add_idx(const Command& import) {
  auto arguments = std::make_shared<IdxArguments>();
  const Command command = import.command("idx", "MNIST's idx files, plain or .gz");
  for (size_t s = 0; s < 3; ++s) {
    command.option("--" + split_names[s], arguments->images[s],
                   "Images of the " + split_names[s] + " split");
    command.option("--" + split_names[s] + "-labels", arguments->labels[s], "Their labels, if any");
  }
  command.option("--images", arguments->all, "One file of all images, described by --table");
  const Option table = command.option("--table", arguments->table,
                                      "CSV (.gz) with one row for each image of --images");
  command.option("--name", arguments->name, "Name of the property that labels give").show_default();
  command
      .repeated("--property", arguments->options.properties,
                "A column of the table to take, NAME or NAME=VALUE,...; without it every one")
      .needs(table);
  command
      .option("--split-column", arguments->options.split_column,
              "Column with train, valid, test or 0, 1, 2; else divided at random")
      .needs(table);
  command.option("--out", arguments->output, "The pack to write").required();
  command.run([arguments] { run_idx(*arguments); });
}

struct ImagesArguments {
  std::string folder, output;
  int64_t size = 0;
  FolderOptions options;
};

void add_images(const Command& import) {
  auto arguments = std::make_shared<ImagesArguments>();
  const Command command =
      import.command("images", "A folder of PNG and JPEG files, with a CSV of properties");
  command.option("folder", arguments->folder, "The folder, with all below it").required();
  command.option("--labels", arguments->options.table,
                 "CSV (.gz): one row per image, one column per property, empty where unknown");
  add_table_options(command, arguments->options.table_options);
  command.option("--size", arguments->size, "Centre crop to a square and resize to SIZE pixels")
      .range(1, 4096);
  command.flag("--grey", arguments->options.grey, "Reduce colours to grey");
  command.option("--out", arguments->output, "The pack to write").required();
  command.run([arguments] {
    require_fractions(arguments->options.table_options);
    if (arguments->size > 0)
      arguments->options.resize = ImageShape{0, arguments->size, arguments->size};
    fmt::print("{}\n",
               import_image_folder(arguments->folder, arguments->options, arguments->output));
  });
}

void add_portraits(const Command& import) {
  auto options = std::make_shared<PortraitSetOptions>();
  auto output = std::make_shared<std::string>();
  const Command command = import.command("portraits", "The built-in cartoon faces");
  command.option("--count", options->count, "Number of portraits")
      .range(10, 10000000)
      .show_default();
  command.option("--size", options->size, "Pixels per side, 16 to 256").show_default();
  command.option("--seed", options->seed, "Another seed draws others")
      .range(int64_t{0}, std::numeric_limits<int64_t>::max())
      .show_default();
  command.option("--out", *output, "The pack to write").required();
  command.run([options, output] { fmt::print("{}\n", import_portraits(*options, *output)); });
}

}  // namespace

void add_import_command(const Command& program) {
  const Command command = program.command("import", "Make a pack from images");
  command.require_command();
  add_idx(command);
  add_images(command);
  add_portraits(command);
}

}  // namespace facet
