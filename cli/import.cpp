// `facet import idx|images|portraits`: from the forms in which people have images to a pack.
#include <charconv>
#include <functional>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/import_display.h"
#include "cli/interruption.h"
#include "facet/core/error.h"
#include "facet/data/import_files.h"
#include "facet/data/portraits.h"

namespace facet {

namespace {

constexpr int kLargestSide = 4096;

/// "64" or "96x64", width first.
ImageShape parse_size(const std::string& text) {
  int width = 0, height = 0;
  const char *end = text.data() + text.size(), *next = text.data();
  const auto take = [&](int& value) {
    const auto [after, error] = std::from_chars(next, end, value);
    next = after;
    return error == std::errc() && value >= 1 && value <= kLargestSide;
  };
  bool is_good = take(width);
  height = width;
  if (is_good && next != end) is_good = (*next == 'x' || *next == 'X') && (++next, take(height));
  if (!is_good || next != end)
    throw Error(
        {.doing = "reading the option",
         .object = "--size",
         .found = fmt::format("'{}'", text),
         .expected = fmt::format("WIDTHxHEIGHT or one number for both, 1 to {}", kLargestSide)});
  return {0, height, width};
}

void add_table_options(const Command& command, const Option& table, TableOptions& options) {
  command
      .repeated("--property", options.properties,
                "A column to take as a property, NAME or NAME=VALUE,VALUE,...; "
                "without it every column with 2 to 200 values is one")
      .needs(table);
  command.option("--key-column", options.key_column, "Column that names the image").needs(table);
  command
      .option("--split-column", options.split_column, "Column with train, valid, test or 0, 1, 2")
      .needs(table);
  command
      .flag("--keep-case", options.keep_case,
            "Values that differ only by case are different; without it they are one")
      .needs(table);
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

/// --out and --shard-size, which all ways to import have.
struct OutputArguments {
  std::string path;
  int64_t shard_size = 0;
};

void add_output_options(const Command& command, OutputArguments& output) {
  command.option("--out", output.path, "The pack to write").required();
  command
      .option("--shard-size", output.shard_size,
              "Images per file: writes NAME-00000.safetensors, NAME-00001.safetensors, ... that "
              "'NAME-*.safetensors' names together; without it the pack is one file")
      .range(int64_t{1}, std::numeric_limits<int64_t>::max());
}

/// Runs an import that can be interrupted, with a progress bar.
void run_interruptible(
    const OutputArguments& output,
    const std::function<std::optional<ImportSummary>(const ImportEvents&)>& import) {
  ImportProgress progress;
  catch_interruption();
  ImportEvents events;
  events.progress = [&](int64_t done, int64_t files) { progress.report(done, files); };
  events.stop = interrupted;
  const std::optional<ImportSummary> summary = import(events);
  progress.finish();
  if (!summary) {
    fmt::print("stopped; {} was not written\n", output.path);
    throw ExitStatus{interruption_status()};
  }
  print_summary(output.path, *summary);
}

struct IdxArguments {
  std::string images[3], labels[3], all, table, name = "label";
  int64_t valid_last = 0;
  OutputArguments output;
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
  if (arguments.valid_last > 0) parts.front().valid = arguments.valid_last;
  const bool by_table = !arguments.all.empty() || !arguments.table.empty();
  if (by_table ? !parts.empty() || arguments.all.empty() || arguments.table.empty() : parts.empty())
    throw Error({.doing = "importing idx files",
                 .object = arguments.output.path,
                 .found = by_table ? "half of each way to name files" : "no file",
                 .expected = "--train, --valid, --test, or --images with --table"});
  const OutputArguments& output = arguments.output;
  print_summary(output.path,
                by_table ? import_idx_table(arguments.all, arguments.table, arguments.options,
                                            output.path, output.shard_size)
                         : import_idx_files(parts, arguments.name, output.path, output.shard_size));
}

void add_idx(const Command& import) {
  auto arguments = std::make_shared<IdxArguments>();
  const Command command = import.command("idx", "MNIST's idx files, plain or .gz");
  std::vector<Option> files;
  for (size_t s = 0; s < 3; ++s) {
    files.push_back(command.option("--" + split_names[s], arguments->images[s],
                                   "Images of the " + split_names[s] + " split"));
    command.option("--" + split_names[s] + "-labels", arguments->labels[s], "Their labels, if any");
  }
  command
      .option("--valid-last", arguments->valid_last,
              "So many of the last images of --train are the valid split")
      .range(int64_t{1}, std::numeric_limits<int64_t>::max())
      .needs(files[0])
      .excludes(files[1]);
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
  command
      .flag("--keep-case", arguments->options.keep_case,
            "Values that differ only by case are different; without it they are one")
      .needs(table);
  add_output_options(command, arguments->output);
  command.run([arguments] { run_idx(*arguments); });
}

struct ImagesArguments {
  std::string folder, size, colour = "auto";
  OutputArguments output;
  bool grey = false, pad = false;
  FolderOptions options;
};

void run_images(ImagesArguments& arguments) {
  FolderOptions& options = arguments.options;
  require_fractions(options.table_options);
  if (!arguments.size.empty()) options.resize = parse_size(arguments.size);
  if (arguments.pad) options.fit = Fit::pad;
  if (arguments.grey || arguments.colour == "grey") options.colour = Colour::grey;
  if (arguments.colour == "rgb") options.colour = Colour::rgb;
  options.shard_size = arguments.output.shard_size;
  run_interruptible(arguments.output, [&](const ImportEvents& events) {
    return import_image_folder(arguments.folder, options, arguments.output.path, events);
  });
}

void add_images(const Command& import) {
  auto arguments = std::make_shared<ImagesArguments>();
  const Command command =
      import.command("images", "A folder of pictures, with a CSV of properties");
  command.option("folder", arguments->folder, "The folder, with all below it").required();
  const Option table =
      command.option("--labels", arguments->options.table,
                     "CSV (.gz): one row per image, one column per property, empty where unknown");
  add_table_options(command, table, arguments->options.table_options);
  const Option size = command.option(
      "--size", arguments->size,
      "Bring all images to WIDTHxHEIGHT pixels, or N for NxN; what is too wide or too high is cut");
  command.flag("--pad", arguments->pad, "Keep the whole picture and fill up with black instead")
      .needs(size);
  const Option colour = command
                            .option("--colour", arguments->colour,
                                    "Channels: grey, rgb, or auto (rgb if any picture has colours)")
                            .one_of({"auto", "grey", "rgb"})
                            .show_default();
  command.flag("--grey", arguments->grey, "The same as --colour grey").excludes(colour);
  command.flag("--skip-damaged", arguments->options.skip_damaged,
               "Leave out files that cannot be read, and count them");
  add_output_options(command, arguments->output);
  command.run([arguments] { run_images(*arguments); });
}

void add_portraits(const Command& import) {
  auto options = std::make_shared<PortraitSetOptions>();
  auto output = std::make_shared<OutputArguments>();
  const Command command = import.command("portraits", "The built-in cartoon faces");
  command.option("--count", options->count, "Number of portraits")
      .range(10, 10000000)
      .show_default();
  command.option("--size", options->size, "Pixels per side")
      .range(kSmallestPortrait, kLargestPortrait)
      .show_default();
  command.option("--seed", options->seed, "Another seed draws others")
      .range(int64_t{0}, std::numeric_limits<int64_t>::max())
      .show_default();
  add_output_options(command, *output);
  command.run([options, output] {
    // One file is drawn as a whole and written at the end: an interruption just ends the program.
    if (output->shard_size == 0)
      print_summary(output->path, *import_portraits(*options, output->path, 0, {}));
    else
      run_interruptible(*output, [&](const ImportEvents& events) {
        return import_portraits(*options, output->path, output->shard_size, events);
      });
  });
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
