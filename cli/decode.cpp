// `facet decode RUN CODES`: images drawn from codes, as one sheet or as one file each.
#include <filesystem>

#include <fmt/format.h>

#include "cli/code_display.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/picture_options.h"
#include "facet/core/error.h"

namespace facet {

namespace {

struct DecodeArguments {
  std::string run, output, device = "auto";
  DecodeRequest request;
};

void run_folder(const DecodeArguments& arguments) {
  ImportProgress progress;
  const CodeEvents events = shown_on(progress);
  const int64_t written = decode_folder(load_run(arguments.run, {arguments.device}),
                                        arguments.request, arguments.output, events);
  progress.finish();
  fmt::print("{}{} image{} in {}\n", interrupted() ? "stopped; " : "", written,
             written == 1 ? "" : "s", arguments.output);
  if (interrupted()) throw ExitStatus{interruption_status()};
}

void run_decode(const DecodeArguments& arguments) {
  if (arguments.request.file.empty() == arguments.request.codes.empty())
    throw Error({.doing = "decoding",
                 .found = arguments.request.file.empty() ? "no codes" : "codes twice",
                 .expected = "a file of codes, or --code factor=component,..."});
  const std::string ending = std::filesystem::path(arguments.output).extension().string();
  const bool folder = ending.empty() || std::filesystem::is_directory(arguments.output);
  if (!folder && ending != ".png" && ending != ".jpg" && ending != ".jpeg")
    throw Error({.doing = "decoding to",
                 .object = arguments.output,
                 .found = fmt::format("the ending '{}'", ending),
                 .expected = ".png, .jpg, or a folder"});
  if (folder) return run_folder(arguments);
  write_drawn(decode_sheet(load_run(arguments.run, {arguments.device}), arguments.request),
              arguments.output);
}

}  // namespace

void add_decode_command(const Command& program) {
  auto arguments = std::make_shared<DecodeArguments>();
  DecodeRequest& request = arguments->request;
  const Command command = program.command("decode", "Draw images from codes");
  command.option("run", arguments->run, "The run that the codes are of").required();
  const Option file =
      command.option("codes", request.file, "Codes: .csv, .npy, .npz or .safetensors");
  command
      .repeated("--code", request.codes,
                "A code, factor=component,...; other factors are at their heaviest component")
      .excludes(file);
  command.option("--out", arguments->output, "A sheet, .png or .jpg, or a folder of images")
      .required();
  command.flag("--packed", request.packed, "The codes are a .npy of packed ones").needs(file);
  command.flag("--draw", request.draw,
               "Draw within the components, and components that --code does not name");
  command.option("--limit", request.limit, "Images of a sheet, at most")
      .range(1, 10000)
      .show_default();
  command.option("--seed", request.seed, "Another seed draws others").show_default();
  command.device_option(arguments->device);
  command.run([arguments] { run_decode(*arguments); });
}

}  // namespace facet
