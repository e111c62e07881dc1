// `facet reconstruct RUN IMAGE...`: what the model makes of images. Below each input stand the
// mean, the standard deviation and a sample of p(x|z), at the mean of q(z|x): the paper's picture
// of a pixel distribution.
#include "cli/picture_options.h"

namespace facet {

namespace {

struct ReconstructArguments : PictureArguments {
  InputRequest inputs;
  uint64_t seed = 1;
  RefineChoice refine;
};

}  // namespace

void add_reconstruct_command(const Command& program) {
  auto arguments = std::make_shared<ReconstructArguments>();
  const Command command =
      program.command("reconstruct", "Show images as the model reconstructs them");
  add_picture_options(command, *arguments, arguments->seed);
  add_input_options(command, arguments->inputs);
  add_refine_options(command, arguments->refine);
  command.run([arguments] {
    require_inputs(arguments->inputs);
    write_drawn(reconstruction_picture(load_run(arguments->run, {arguments->device}),
                                       arguments->inputs, arguments->seed, arguments->refine),
                arguments->output);
  });
}

}  // namespace facet
