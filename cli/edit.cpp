// `facet edit RUN IMAGE...`: changes images by their factors. With --change chosen factors move to
// other components and the rest of an image stays; with --toward an image goes step by step to
// another one, in all factors or only in some.
#include "cli/picture_options.h"
#include "facet/core/error.h"

namespace facet {

namespace {

struct EditArguments : PictureArguments {
  EditRequest request;
  bool no_offset = false;
};

void run_edit(EditArguments& arguments) {
  EditRequest& request = arguments.request;
  if (request.changes.empty() && request.toward.empty())
    throw Error({.doing = "editing images",
                 .found = "nothing to change",
                 .expected = "--change name=value or --toward IMAGE"});
  require_inputs(request.inputs);
  request.keep_offset = !arguments.no_offset;
  write_drawn(edit_picture(load_run(arguments.run, {arguments.device}), request), arguments.output);
}

}  // namespace

void add_edit_command(const Command& program) {
  auto arguments = std::make_shared<EditArguments>();
  const Command command = program.command("edit", "Change properties of images");
  add_picture_options(command, *arguments, arguments->request.seed);
  add_input_options(command, arguments->request.inputs);
  const Option change = command.repeated("--change", arguments->request.changes,
                                         "Move a factor to a component, name=value");
  command
      .flag("--no-offset", arguments->no_offset,
            "Put it at the component's mean; else an image keeps its place within")
      .needs(change);
  const Option toward =
      command.option("--toward", arguments->request.toward, "Go step by step to this image")
          .excludes(change);
  command.option("--steps", arguments->request.steps, "Images on the way, with both ends")
      .range(2, 100)
      .needs(toward)
      .show_default();
  command.repeated("--only", arguments->request.only, "Only this factor goes").needs(toward);
  add_refine_options(command, arguments->request.refine);
  command.run([arguments] { run_edit(*arguments); });
}

}  // namespace facet
