// `facet sample RUN`: images drawn from the model by ancestral sampling, as one PNG.
#include <fmt/format.h>

#include "cli/command.h"

namespace facet {

namespace {

struct SampleArguments {
  std::string run, output, device = "auto";
  int64_t count = 64;
  uint64_t seed = 1;
};

}  // namespace

void add_sample_command(CLI::App& program) {
  auto arguments = std::make_shared<SampleArguments>();
  CLI::App* command = program.add_subcommand("sample", "Draw images from a trained model");
  command->add_option("run", arguments->run, "A run folder")->required();
  command->add_option("--out", arguments->output, "The PNG to write")->required();
  command->add_option("--count", arguments->count, "Number of images")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Another seed draws others")
      ->capture_default_str();
  add_device_option(*command, arguments->device);
  command->callback([arguments] {
    const LoadedRun run = load_run(arguments->run, choose_device(arguments->device));
    write_samples(*run.model, arguments->count, arguments->seed, arguments->output);
    fmt::print("{} samples in {}\n", arguments->count, arguments->output);
  });
}

}  // namespace facet
