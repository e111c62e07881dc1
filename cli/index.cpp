// `facet index RUN DATA...`: makes an index of images that `facet search` looks through, or adds
// images to one.
#include <fmt/format.h>

#include "cli/code_display.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "facet/core/error.h"
#include "facet/report/run_search.h"

namespace facet {

namespace {

struct IndexArguments {
  std::string output, append;
  ComputePlace place;
  IndexRequest request;
};

void run_index(IndexArguments& arguments) {
  IndexRequest& request = arguments.request;
  if (arguments.output.empty() == arguments.append.empty())
    throw Error({.doing = "indexing images",
                 .found = arguments.output.empty() ? "no index" : "two indexes",
                 .expected = "--out for a new one, or --append for one that exists"});
  request.append = arguments.output.empty();
  request.index = request.append ? arguments.append : arguments.output;
  ImportProgress progress;
  const CodeEvents events = shown_on(progress);
  const IndexSummary summary =
      index_images(load_run(request.run, arguments.place), request, events);
  progress.finish();
  if (summary.stopped) {
    fmt::print("stopped; {} is as it was\n", request.index);
    throw ExitStatus{interruption_status()};
  }
  fmt::print("{}: {} image{} added, {} in all, {:.0f} bytes per image in the scan\n", request.index,
             summary.added, summary.added == 1 ? "" : "s", summary.images, summary.scan_bytes);
}

}  // namespace

void add_index_command(const Command& program) {
  auto arguments = std::make_shared<IndexArguments>();
  const Command command = program.command("index", "Make an index of images, for `facet search`");
  command.option("run", arguments->request.run, "A run folder").required();
  command
      .option("data", arguments->request.data,
              "A pack, a folder of images, a CSV beside them, or image files")
      .required();
  const Option output = command.option("--out", arguments->output, "The folder to make");
  command.option("--append", arguments->append, "An index to add the images to").excludes(output);
  command
      .option("--bytes", arguments->request.bytes,
              "Bytes per image in the scan, at most; the default suits most models")
      .range(1, 128)
      .show_default()
      .needs(output);
  command.place_options(arguments->place.device, arguments->place.precision);
  command.run([arguments] { run_index(*arguments); });
}

}  // namespace facet
