// `facet sample RUN`: images drawn from the model by ancestral sampling, as one PNG. Factors may be
// fixed at chosen components; all others are drawn from the prior.
#include <fmt/format.h>

#include "cli/picture_options.h"
#include "facet/core/error.h"
#include "facet/data/image_file.h"

namespace facet {

namespace {

struct SampleArguments : PictureArguments {
  SampleRequest request;
};

/// A distribution's three rows are one picture wide, and take no layout of their own.
void require_columns(const SampleRequest& request) {
  constexpr int64_t most = 100;
  if (request.pixels != "distribution") return;
  const bool laid_out = request.bare || request.scale > 0;
  if (request.count > most || laid_out)
    throw Error({.doing = "drawing samples",
                 .object = "--pixels distribution",
                 .found = laid_out ? "--bare or --scale" : fmt::format("--count {}", request.count),
                 .expected = laid_out ? "neither" : fmt::format("at most {} columns", most)});
}

void run_sample(const SampleArguments& arguments) {
  require_columns(arguments.request);
  const LoadedRun run = load_run(arguments.run, {arguments.device});
  write_picture(arguments.output, sample_picture(run, arguments.request));
  fmt::print("{} samples in {}\n", arguments.request.count, arguments.output);
}

}  // namespace

void add_sample_command(const Command& program) {
  auto arguments = std::make_shared<SampleArguments>();
  const Command command = program.command("sample", "Draw images from a trained model");
  add_picture_options(command, *arguments, arguments->request.seed);
  command.option("--count", arguments->request.count, "Number of images")
      .range(1, 10000)
      .show_default();
  const Option fixed = command.repeated("--fix", arguments->request.fixed,
                                        "Fix a factor at a component, name=value");
  command
      .option("--merge", arguments->request.merge,
              "Merge the components of fixed free factors into so many groups; --fix name=NUMBER "
              "is then a group, as 'facet clusters --merge' shows it")
      .range(1, 10000)
      .needs(fixed);
  command.repeated("--redraw", arguments->request.redrawn,
                   "Draw one factor with another seed, name=SEED");
  command.repeated("--temperature", arguments->request.temperatures,
                   "Distance from the component's mean, 0 to 2, of all factors or name=T");
  command.repeated("--offset", arguments->request.offsets,
                   "Move along a dimension by so many standard deviations, name:DIMENSION=D");
  command.flag("--bare", arguments->request.bare, "Images alone: no gaps, title or magnification");
  command.option("--scale", arguments->request.scale, "Magnify so many times").range(1, 16);
  const Option refined = add_refine_options(command, arguments->request.refine);
  command
      .option("--pixels", arguments->request.pixels,
              "Show the mean of p(x|z), a sample with its noise, or in three rows its "
              "distribution: mean, standard deviation and sample")
      .one_of({"mean", "sample", "distribution"})
      .excludes(refined)
      .show_default();
  command.run([arguments] { run_sample(*arguments); });
}

}  // namespace facet
