// `facet reconstruct RUN IMAGE...`: what the model makes of images. Below each input stand the
// mean, the standard deviation and a sample of p(x|z), at the mean of q(z|x): the paper's picture
// of a pixel distribution.
#include <fmt/format.h>

#include "cli/pictures.h"
#include "facet/data/image_file.h"

namespace facet {

namespace {

struct ReconstructArguments : PictureArguments {
  InputArguments inputs;
};

void run_reconstruct(const ReconstructArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  InputImages images(run, arguments.inputs.resize);
  const std::vector<std::string> names = images.names(arguments.inputs);
  std::vector<std::string> labels;
  for (const std::string& name : names) labels.push_back(short_name(name));
  write_picture(arguments.output, draw(reconstruction_figure(*run.model, images.read(names), labels,
                                                             arguments.seed)));
  fmt::print("{} reconstruction{} in {}\n", names.size(), names.size() == 1 ? "" : "s",
             arguments.output);
}

}  // namespace

void add_reconstruct_command(CLI::App& program) {
  auto arguments = std::make_shared<ReconstructArguments>();
  CLI::App* command =
      program.add_subcommand("reconstruct", "Show images as the model reconstructs them");
  add_picture_options(*command, *arguments);
  add_input_options(*command, arguments->inputs);
  command->callback([arguments] { run_reconstruct(*arguments); });
}

}  // namespace facet
