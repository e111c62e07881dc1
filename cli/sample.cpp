// `facet sample RUN`: images drawn from the model by ancestral sampling, as one PNG. Factors may be
// held at chosen components; all others are drawn from the prior.
#include <fmt/format.h>

#include "cli/pictures.h"
#include "facet/core/error.h"
#include "facet/data/image_file.h"
#include "facet/model/editing.h"

namespace facet {

namespace {

struct SampleArguments : PictureArguments {
  int64_t count = 64;
  std::vector<std::string> fixed, redrawn, temperatures, offsets;
  bool bare = false;
  int64_t scale = 0;
  std::string pixels = "mean";
};

Recipe recipe_of(const SampleArguments& arguments, const FactorialMixture& prior,
                 const std::vector<int64_t>& fixed) {
  Recipe recipe = plain_recipe(prior, arguments.seed);
  for (size_t i = 0; i < fixed.size(); ++i) recipe[i].component = fixed[i];
  for (const std::string& setting : arguments.redrawn) set_recipe_seed(prior, recipe, setting);
  for (const std::string& setting : arguments.temperatures)
    set_recipe_temperature(prior, recipe, setting);
  for (const std::string& setting : arguments.offsets) add_recipe_offset(prior, recipe, setting);
  return recipe;
}

/// A distribution's three rows are one picture wide, and take no layout of their own.
void require_columns(const SampleArguments& arguments) {
  constexpr int64_t most = 100;
  if (arguments.pixels != "distribution") return;
  const bool laid_out = arguments.bare || arguments.scale > 0;
  if (arguments.count > most || laid_out)
    throw Error(
        {.doing = "drawing samples",
         .object = "--pixels distribution",
         .found = laid_out ? "--bare or --scale" : fmt::format("--count {}", arguments.count),
         .expected = laid_out ? "neither" : fmt::format("at most {} columns", most)});
}

void run_sample(const SampleArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  const std::vector<int64_t> fixed = parse_fixed(run.model->prior, arguments.fixed);
  require_columns(arguments);
  const SampleOptions options{.count = arguments.count,
                              .seed = arguments.seed,
                              .fixed = fixed,
                              .recipe = recipe_of(arguments, run.model->prior, fixed),
                              .draw_pixels = arguments.pixels == "sample",
                              .bare = arguments.bare,
                              .scale = arguments.scale};
  write_picture(arguments.output,
                draw(arguments.pixels == "distribution" ? distribution_figure(*run.model, options)
                                                        : sample_figure(*run.model, options)));
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
  add_repeated_option(*command, "--redraw", arguments->redrawn,
                      "Draw one factor with another seed, name=SEED");
  add_repeated_option(*command, "--temperature", arguments->temperatures,
                      "Distance from the component's mean, 0 to 2, of all factors or name=T");
  add_repeated_option(*command, "--offset", arguments->offsets,
                      "Move along a dimension by so many standard deviations, name:DIMENSION=D");
  command->add_flag("--bare", arguments->bare, "Images alone: no gaps, title or magnification");
  command->add_option("--scale", arguments->scale, "Magnify so many times")
      ->check(CLI::Range(1, 16));
  command
      ->add_option("--pixels", arguments->pixels,
                   "Show the mean of p(x|z), a sample with its noise, or in three rows its "
                   "distribution: mean, standard deviation and sample")
      ->check(CLI::IsMember({"mean", "sample", "distribution"}))
      ->capture_default_str();
  command->callback([arguments] { run_sample(*arguments); });
}

}  // namespace facet
