// `facet eval RUN`: the bound of a trained model on a split, what its factors found, and whether
// its samples show what was asked for.
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "cli/command.h"

namespace facet {

namespace {

struct EvalArguments {
  std::string run, split = "test", device = "auto", pack;
  EvaluationOptions evaluation;
  uint64_t seed = 1;
  bool json = false;
  bool judge = false;
  std::string judge_labels = "all";
  ClassifierOptions judging;
};

void run_eval(const EvalArguments& arguments) {
  const torch::Device device = choose_device(arguments.device);
  LoadedRun run = load_run(arguments.run, device);
  if (!arguments.pack.empty()) run.config.data.pack = arguments.pack;
  const Pack pack = load_data(run.config.data);
  require_shape(pack, *run.model, run.config.data.pack);
  const ImageSet images =
      select_images(pack, {parse_split(arguments.split)}, run.config.data, false, device);
  std::optional<ClassifierReport> judgement;
  if (arguments.judge)
    judgement =
        classify_model_samples(*run.model, pack, run.config.data, parse_split(arguments.split),
                               arguments.judge_labels == "run", arguments.judging);
  const Evaluation evaluation =
      evaluate(*run.model, images, pack.properties, arguments.split, arguments.evaluation);
  if (arguments.json) {
    Json json = to_json(evaluation);
    if (judgement) {
      json["judge"] = to_json(*judgement);
      json["judge"]["labels"] = arguments.judge_labels;
    }
    std::cout << json.dump(2) << '\n';
    return;
  }
  print_evaluation(evaluation);
  if (judgement) print_classifier_report(*judgement);
}

void add_judge_options(CLI::App& command, EvalArguments& arguments) {
  CLI::Option* judge = command.add_flag(
      "--judge", arguments.judge,
      "Also: how often a classifier of real images sees in samples what was asked for");
  command
      .add_option("--judge-labels", arguments.judge_labels,
                  "What it learns from: all labels, or those that the run itself saw")
      ->check(CLI::IsMember({"all", "run"}))
      ->needs(judge)
      ->capture_default_str();
  command
      .add_option("--judge-samples", arguments.judging.samples,
                  "Samples for every value of every named factor")
      ->check(CLI::Range(1, 1000000))
      ->needs(judge)
      ->capture_default_str();
  command
      .add_option("--judge-channels", arguments.judging.channels,
                  "Channels of its last convolution; more see more, where labels are many")
      ->check(CLI::Range(1, 4096))
      ->needs(judge)
      ->capture_default_str();
  command
      .add_option("--judge-decay", arguments.judging.weight_decay,
                  "Its weight decay; less where labels are many")
      ->check(CLI::Range(0.0, 100.0))
      ->needs(judge)
      ->capture_default_str();
  command.add_option("--judge-steps", arguments.judging.steps, "Steps of its training")
      ->check(CLI::Range(1, 1000000))
      ->needs(judge)
      ->capture_default_str();
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
  CLI::Option* importance =
      command
          ->add_option("--importance", arguments->evaluation.importance,
                       "Also the importance-weighted bound, with so many draws an image")
          ->check(CLI::Range(1, 1000000));
  command
      ->add_option(
          "--importance-images", arguments->evaluation.importance_images,
          "That bound's gain from so many images of the split, chosen at random; else from all")
      ->check(CLI::Range(1, 1000000000))
      ->needs(importance);
  command->add_option("--seed", arguments->seed, "Seed of the draws and of the judge")
      ->capture_default_str();
  command->add_option("--pack", arguments->pack, "Measure on this pack instead of the run's own");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  add_judge_options(*command, *arguments);
  add_device_option(*command, arguments->device);
  command->callback([arguments] {
    arguments->evaluation.seed = arguments->judging.seed = arguments->seed;
    run_eval(*arguments);
  });
}

}  // namespace facet
