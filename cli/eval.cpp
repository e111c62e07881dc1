// `facet eval RUN`: the bound of a trained model on a split, and what its factors found.
#include <iostream>

#include <fmt/format.h>

#include "cli/command.h"

namespace facet {

namespace {

struct EvalArguments {
  std::string run, split = "test", device = "auto", pack;
  EvaluationOptions evaluation;
  bool json = false;
};

void run_eval(const EvalArguments& arguments) {
  const torch::Device device = choose_device(arguments.device);
  LoadedRun run = load_run(arguments.run, device);
  if (!arguments.pack.empty()) run.config.data.pack = arguments.pack;
  const Pack pack = load_data(run.config.data);
  require_shape(pack, *run.model, run.config.data.pack);
  const ImageSet images =
      select_images(pack, {parse_split(arguments.split)}, run.config.data, false, device);
  const Evaluation evaluation =
      evaluate(*run.model, images, pack.properties, arguments.split, arguments.evaluation);
  if (arguments.json)
    std::cout << to_json(evaluation).dump(2) << '\n';
  else
    print_evaluation(evaluation);
}

}  // namespace

void add_eval_command(CLI::App& program) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = program.add_subcommand("eval", "Measure a trained model on a split");
  command->add_option("run", arguments->run, "A run folder")->required();
  command->add_option("--split", arguments->split, "train, valid or test")->capture_default_str();
  command->add_option("--samples", arguments->evaluation.samples, "Draws of z an image")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--importance", arguments->evaluation.importance,
                   "Also the importance-weighted bound, with so many draws an image")
      ->check(CLI::Range(0, 1000000));
  command->add_option("--seed", arguments->evaluation.seed, "Seed of the draws")
      ->capture_default_str();
  command->add_option("--pack", arguments->pack, "Measure on this pack instead of the run's own");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  add_device_option(*command, arguments->device);
  command->callback([arguments] { run_eval(*arguments); });
}

}  // namespace facet
