// `facet encode RUN DATA...`: the code of every image, and on request the probabilities and the
// latent vectors behind it, as a table or as arrays.
#include <fmt/format.h>

#include "cli/code_display.h"
#include "cli/command.h"
#include "cli/interruption.h"

namespace facet {

namespace {

struct EncodeArguments {
  std::string run;
  ComputePlace place;
  EncodeRequest request;
};

void run_encode(const EncodeArguments& arguments) {
  ImportProgress progress;
  const CodeEvents events = shown_on(progress);
  const EncodeSummary summary =
      encode_images(load_run(arguments.run, arguments.place), arguments.request, events);
  progress.finish();
  if (summary.stopped) {
    fmt::print("stopped; {} was not written\n", arguments.request.output);
    throw ExitStatus{interruption_status()};
  }
  fmt::print("{}: the codes of {} image{}, {} factor{} in {} bits\n", arguments.request.output,
             summary.images, summary.images == 1 ? "" : "s", summary.factors,
             summary.factors == 1 ? "" : "s", summary.bits);
}

}  // namespace

void add_encode_command(const Command& program) {
  auto arguments = std::make_shared<EncodeArguments>();
  EncodeRequest& request = arguments->request;
  const Command command =
      program.command("encode", "Write the code of every image: its component of every factor");
  command.option("run", arguments->run, "A run folder").required();
  command
      .option("data", request.data, "A pack, a folder of images, a CSV beside them, or image files")
      .required();
  command.option("--out", request.output, "The file to write: .csv, .npy, .npz or .safetensors")
      .required();
  command.flag("--packed", request.packed, "Codes as bits, ceil(log2 K) for each factor");
  command.flag("--probabilities", request.probabilities,
               "Also the assignment probability of every component");
  command.flag("--latents", request.latents, "Also mean and variance of every factor's block");
  command.place_options(arguments->place.device, arguments->place.precision);
  command.run([arguments] { run_encode(*arguments); });
}

}  // namespace facet
