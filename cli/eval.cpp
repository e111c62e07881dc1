// `facet eval RUN`: the bound of a trained model on a split, what its factors found, and whether
// conditional samples show their values.
#include <cmath>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/report/run_evaluation.h"
#include "facet/report/run_fitting.h"

namespace facet {

namespace {

struct EvalArguments {
  std::string run;
  ComputePlace place;
  EvaluationRequest request;
  uint64_t seed = 1;
  bool json = false;
  std::string judge_labels = "all";
  VectorRequest vectors;
  std::string model_option;   ///< one that was given and needs a model, such as "--judge"
  std::string vector_option;  ///< one that needs a mixture of vectors
};

/// What was measured is printed all the same.
void require_finite_bound(const EvalArguments& arguments, const Evaluation& evaluation) {
  if (std::isfinite(evaluation.elbo)) return;
  throw NotFinite({.doing = "measuring the run",
                   .object = arguments.run,
                   .found = "a bound that is not a finite number",
                   .expected = "a finite one",
                   .cause = "did training diverge?"});
}

/// A run of `facet fit` has no images, and a model no vectors.
void refuse(const EvalArguments& arguments, const std::string& option, const char* kind) {
  if (option.empty()) return;
  throw Error({.doing = "measuring the run",
               .object = arguments.run,
               .found = fmt::format("the option {}", option),
               .expected = fmt::format("one for {}", kind)});
}

void run_vector_eval(const EvalArguments& arguments) {
  refuse(arguments, arguments.model_option, "a mixture of vectors, which has no decoder");
  const Evaluation evaluation = evaluate_fit_run(arguments.run, arguments.vectors);
  if (arguments.json)
    fmt::print("{}\n", to_json(evaluation).dump(2));
  else
    print_vector_evaluation(evaluation);
  require_finite_bound(arguments, evaluation);
}

void run_eval(const EvalArguments& arguments) {
  if (is_fit_run(arguments.run)) return run_vector_eval(arguments);
  refuse(arguments, arguments.vector_option, "a model of images");
  const auto [evaluation, classifier, fidelity] =
      evaluate_run(load_run(arguments.run, arguments.place), arguments.request);
  if (arguments.json) {
    Json json = to_json(evaluation);
    if (classifier) {
      json["judge"] = to_json(*classifier);
      json["judge"]["labels"] = arguments.judge_labels;
    }
    if (fidelity) json["fidelity"] = to_json(*fidelity);
    fmt::print("{}\n", json.dump(2));
    return require_finite_bound(arguments, evaluation);
  }
  print_evaluation(evaluation);
  if (classifier) print_classifier_report(*classifier);
  if (fidelity) print_fidelity(*fidelity);
  require_finite_bound(arguments, evaluation);
}

/// The option that needs a model.
Option add_judge_options(const Command& command, EvalArguments& arguments) {
  const Option judge = command.flag("--judge", arguments.request.classify,
                                    "Also: how often a classifier trained on real images finds in "
                                    "samples the value they were drawn with");
  command
      .option("--judge-labels", arguments.judge_labels,
              "What it learns from: all labels, or those that the run itself saw")
      .one_of({"all", "run"})
      .needs(judge)
      .show_default();
  command
      .option("--judge-samples", arguments.request.classifier.samples,
              "Samples for every value of every named factor")
      .range(1, 1000000)
      .needs(judge)
      .show_default();
  command
      .option("--judge-channels", arguments.request.classifier.channels,
              "Channels of its last convolution; more see more, where labels are many")
      .range(1, 4096)
      .needs(judge)
      .show_default();
  command
      .option("--judge-decay", arguments.request.classifier.weight_decay,
              "Its weight decay; less where labels are many")
      .range(0.0, 100.0)
      .needs(judge)
      .show_default();
  command
      .flag("--judge-refined", arguments.request.refine.refined,
            "Also show it the samples as the run's refiner makes them sharp")
      .needs(judge);
  command.option("--judge-steps", arguments.request.classifier.steps, "Steps of its training")
      .range(1, 1000000)
      .needs(judge)
      .show_default();
  return judge;
}

/// The option that needs a model.
Option add_fidelity_options(const Command& command, EvalArguments& arguments) {
  FidelityRequest& request = arguments.request.fidelity;
  const Option fidelity =
      command.flag("--fidelity", arguments.request.measure_fidelity,
                   "Also: how much samples look like images, by features of networks that are "
                   "trained on the run's images");
  command
      .option("--fidelity-samples", request.samples,
              "Samples, and images of each half of the split, at most")
      .range(50, 1000000)
      .needs(fidelity)
      .show_default();
  command
      .option("--fidelity-steps", request.feature_steps,
              "Steps of the feature network's training, unless the run has it")
      .range(1, 1000000)
      .needs(fidelity)
      .show_default();
  return fidelity;
}

}  // namespace

void add_eval_command(const Command& program) {
  auto arguments = std::make_shared<EvalArguments>();
  const Command command = program.command("eval", "Measure a trained model on a split");
  command.option("run", arguments->run, "A run folder").required();
  const Option split =
      command.option("--split", arguments->request.split, "train, valid or test").show_default();
  const Option samples =
      command.option("--samples", arguments->request.evaluation.samples, "Draws of z per image")
          .range(1, 1000000)
          .show_default();
  const Option importance =
      command
          .option("--importance", arguments->request.evaluation.importance,
                  "Also the importance-weighted bound, with this many draws per image")
          .range(1, 1000000);
  command
      .option("--importance-images", arguments->request.evaluation.importance_images,
              "That bound's gain from so many images of the split, chosen at random; else from all")
      .range(1, 1000000000)
      .needs(importance);
  command.option("--seed", arguments->seed, "Seed of the draws and of the classifier")
      .show_default();
  const Option pack = command.option("--pack", arguments->request.pack,
                                     "Measure on this pack instead of the run's own");
  const Option vectors = command.option("--vectors", arguments->vectors.vectors,
                                        "Of a run of 'facet fit': measure on these vectors");
  command.option("--tensor", arguments->vectors.tensor, "The tensor of a .safetensors file")
      .needs(vectors);
  const Option labels = command.option("--labels", arguments->vectors.labels,
                                       "Of a run of 'facet fit': labels of the vectors, as there");
  command.flag("--json", arguments->json, "Print one JSON object");
  const Option judge = add_judge_options(command, *arguments);
  const Option fidelity = add_fidelity_options(command, *arguments);
  const Option steps = command
                           .option("--refine-steps", arguments->request.refine.steps,
                                   "Steps of the refiner, for --fidelity and --judge-refined")
                           .range(int64_t{1}, kMostRefineSteps)
                           .show_default();
  const Option guidance = add_guidance_option(command, arguments->request.refine);
  command.place_options(arguments->place.device, arguments->place.precision);
  command.run([=] {
    for (const auto& [option, name] :
         {std::pair{split, "--split"}, std::pair{samples, "--samples"}, std::pair{pack, "--pack"},
          std::pair{importance, "--importance"}, std::pair{judge, "--judge"},
          std::pair{fidelity, "--fidelity"}})
      if (option.given()) arguments->model_option = name;
    for (const auto& [option, name] :
         {std::pair{vectors, "--vectors"}, std::pair{labels, "--labels"}})
      if (option.given()) arguments->vector_option = name;
    EvaluationRequest& request = arguments->request;
    for (const auto& [option, name] :
         {std::pair{steps, "--refine-steps"}, std::pair{guidance, "--refine-guidance"}})
      if (option.given() && !request.measure_fidelity && !request.refine.refined)
        Attempt{"measuring the run", arguments->run}.fail(
            fmt::format("{} alone", name), "--fidelity or --judge-refined beside it");
    request.fidelity.refine = request.refine;
    request.evaluation.seed = request.classifier.seed = request.fidelity.seed = arguments->seed;
    if (!arguments->json)
      request.notice = [](const std::string& sentence) {
        fmt::print("{}\n", sentence);
        std::fflush(stdout);
      };
    request.seen_labels_only = arguments->judge_labels == "run";
    run_eval(*arguments);
  });
}

}  // namespace facet
