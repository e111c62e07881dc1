// `facet import idx|images|portraits`: from the forms in which people have images to a pack.
#include "facet/data/import.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/error.h"

namespace facet {

namespace {

void add_table_options(CLI::App& command, TableOptions& options) {
  add_repeated_option(command, "--property", options.properties,
                      "A column to take as a property, NAME or NAME=VALUE,VALUE,...; may be "
                      "repeated; without it every column is one");
  command.add_option("--key-column", options.key_column, "Column that names the image");
  command.add_option("--split-column", options.split_column,
                     "Column with train, valid, test or 0, 1, 2");
  command.add_option("--valid", options.valid_fraction, "Share of valid images, divided at random")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--test", options.test_fraction, "Share of test images, divided at random")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Seed of the random division")->capture_default_str();
}

void require_fractions(const TableOptions& options) {
  if (options.valid_fraction + options.test_fraction < 1.0) return;
  throw Error({.doing = "dividing images",
               .object = "--valid, --test",
               .found = fmt::format("{} and {}", options.valid_fraction, options.test_fraction),
               .expected = "shares that leave some images to train on"});
}

void finish(const Pack& pack, const std::string& output) {
  write_pack(output, pack);
  std::string counts;
  for (size_t s = 0; s < split_names.size(); ++s)
    counts +=
        fmt::format("{}{} {}", s == 0 ? "" : ", ",
                    pack.split.eq(static_cast<int64_t>(s)).sum().item<int64_t>(), split_names[s]);
  const ImageShape shape = pack.shape();
  fmt::print("{}: {} images of {}x{} in {} channel{} ({}), {} propert{}\n", output, pack.count(),
             shape.height, shape.width, shape.channels, shape.channels == 1 ? "" : "s", counts,
             pack.properties.size(), pack.properties.size() == 1 ? "y" : "ies");
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
  finish(by_table ? import_idx_with_table(arguments.all, arguments.table, arguments.options)
                  : import_idx(parts, arguments.name),
         arguments.output);
}

void add_idx(CLI::App& import) {
  auto arguments = std::make_shared<IdxArguments>();
  CLI::App* command = import.add_subcommand("idx", "MNIST's idx files, plain or .gz");
  for (size_t s = 0; s < 3; ++s) {
    command->add_option("--" + split_names[s], arguments->images[s],
                        "Images of the " + split_names[s] + " split");
    command->add_option("--" + split_names[s] + "-labels", arguments->labels[s],
                        "Their labels, if any");
  }
  command->add_option("--images", arguments->all, "One file of all images, described by --table");
  CLI::Option* table = command->add_option("--table", arguments->table,
                                           "CSV (.gz) with one row for each image of --images");
  command->add_option("--name", arguments->name, "Name of the property that labels give")
      ->capture_default_str();
  add_repeated_option(*command, "--property", arguments->options.properties,
                      "A column of the table to take, NAME or NAME=VALUE,...; without it every one")
      ->needs(table);
  command
      ->add_option("--split-column", arguments->options.split_column,
                   "Column with train, valid, test or 0, 1, 2; else divided at random")
      ->needs(table);
  command->add_option("--out", arguments->output, "The pack to write")->required();
  command->callback([arguments] { run_idx(*arguments); });
}

struct ImagesArguments {
  std::string folder, output;
  int64_t size = 0;
  FolderOptions options;
};

void add_images(CLI::App& import) {
  auto arguments = std::make_shared<ImagesArguments>();
  CLI::App* command =
      import.add_subcommand("images", "A folder of PNG and JPEG files, with a CSV of properties");
  command->add_option("folder", arguments->folder, "The folder, with all below it")->required();
  command->add_option("--labels", arguments->options.table,
                      "CSV (.gz): one row an image, one column a property, empty where unknown");
  add_table_options(*command, arguments->options.table_options);
  command
      ->add_option("--size", arguments->size, "Centre crop to a square and resize to SIZE pixels")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--grey", arguments->options.grey, "Reduce colours to grey");
  command->add_option("--out", arguments->output, "The pack to write")->required();
  command->callback([arguments] {
    require_fractions(arguments->options.table_options);
    if (arguments->size > 0)
      arguments->options.resize = ImageShape{0, arguments->size, arguments->size};
    finish(import_folder(arguments->folder, arguments->options), arguments->output);
  });
}

void add_portraits(CLI::App& import) {
  auto options = std::make_shared<PortraitSetOptions>();
  auto output = std::make_shared<std::string>();
  CLI::App* command = import.add_subcommand("portraits", "The built-in cartoon faces");
  command->add_option("--count", options->count, "Number of portraits")
      ->check(CLI::Range(10, 10000000))
      ->capture_default_str();
  command->add_option("--size", options->size, "Pixels a side, 16 to 256")->capture_default_str();
  command->add_option("--seed", options->seed, "Another seed draws others")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--out", *output, "The pack to write")->required();
  command->callback([options, output] { finish(make_portraits(*options), *output); });
}

}  // namespace

void add_import_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("import", "Make a pack from images");
  command->require_subcommand(1);
  add_idx(*command);
  add_images(*command);
  add_portraits(*command);
}

}  // namespace facet
