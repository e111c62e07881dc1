// `facet sample RUN`: images drawn from the model by ancestral sampling, as one PNG. Factors may be
// held at chosen components; all others are drawn from the prior.
#include <fmt/format.h>

#include "cli/pictures.h"
#include "facet/data/image_file.h"
#include "facet/model/editing.h"

namespace facet {

namespace {

struct SampleArguments : PictureArguments {
  int64_t count = 64;
  std::vector<std::string> fixed;
  std::string pixels = "mean";
};

void run_sample(const SampleArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  const SampleOptions options{.count = arguments.count,
                              .seed = arguments.seed,
                              .fixed = parse_fixed(run.model->prior, arguments.fixed),
                              .draw_pixels = arguments.pixels == "sample"};
  write_png(arguments.output, draw(sample_figure(*run.model, options)));
  fmt::print("{} samples in {}\n", arguments.count, arguments.output);
}

}  // namespace

void add_sample_command(CLI::App& program) {
  auto arguments = std::make_shared<SampleArguments>();
  CLI::App* command = program.add_subcommand("sample", "Draw images from a trained model");
  add_picture_options(*command, *arguments);
  command->add_option("--count", arguments->count, "Number of images")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  add_repeated_option(*command, "--fix", arguments->fixed,
                      "Hold a factor at a component, name=value");
  command
      ->add_option("--pixels", arguments->pixels,
                   "Show the mean of p(x|z), or a sample with its noise")
      ->check(CLI::IsMember({"mean", "sample"}))
      ->capture_default_str();
  command->callback([arguments] { run_sample(*arguments); });
}

}  // namespace facet
