// `facet fit VECTORS --out RUN`: the mixtures alone, fitted to vectors that the user already has.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interruption.h"
#include "facet/core/error.h"
#include "facet/report/run_fitting.h"

namespace facet {

namespace {

struct FitArguments {
  FitRequest request;
  std::string vectors, tensor, labels, start, config, factors, output;
  std::vector<std::string> settings;
  bool describe = false, components_given = false;
};

/// All options as a Markdown table: the one in docs/fit.md.
void describe_fit_config() {
  fmt::print("| option | default | allowed | meaning |\n|---|---|---|---|\n");
  for (const OptionDescription& option : describe_options<FitConfig>()) {
    const bool group = option.type.find("group") != std::string::npos;
    fmt::print("| `{}` | {} | {} | {} |\n", option.key,
               group ? "" : fmt::format("`{}`", option.default_value),
               group                    ? ""
               : option.allowed.empty() ? option.type
                                        : option.allowed,
               option.help);
  }
}

FitRequest request_of(const FitArguments& arguments) {
  FitRequest request = arguments.request;
  request.config = read_fit_config(arguments.config, arguments.settings);
  VectorOptions& files = request.config.vectors;
  for (const auto& [place, given] :
       {std::pair{&files.file, &arguments.vectors}, std::pair{&files.tensor, &arguments.tensor},
        std::pair{&files.labels, &arguments.labels}, std::pair{&files.start, &arguments.start}})
    if (!given->empty()) *place = *given;
  if (files.file.empty())
    throw Error({.doing = "starting a fit",
                 .object = "VECTORS",
                 .found = "no file",
                 .expected = "facet fit VECTORS --out RUN"});
  if (!arguments.factors.empty())
    request.config.factors = parse_factors(arguments.factors, request.components);
  else if (arguments.components_given)
    request.config.factors.clear();
  request.folder = arguments.output;
  return request;
}

/// Every iteration at first, then ever fewer: a fit may have hundreds.
bool is_shown(const FitIteration& iteration) {
  const int64_t n = iteration.iteration;
  const int64_t every = n < 5 ? 1 : n < 20 ? 5 : n < 100 ? 10 : 50;
  return iteration.last || n % every == 0;
}

void print_iteration(const FitIteration& iteration, int64_t components) {
  fmt::print("iteration {:>4}  bound {:.5f}  living {}/{}", iteration.iteration, iteration.bound,
             iteration.living, components);
  if (iteration.merged + iteration.split > 0)
    fmt::print("  merged {}, split {}", iteration.merged, iteration.split);
  fmt::print("\n");
  std::fflush(stdout);
}

void run_fit(const FitArguments& arguments) {
  if (arguments.describe) return describe_fit_config();
  if (arguments.output.empty())
    throw Error({.doing = "starting a fit",
                 .object = "--out",
                 .found = "no folder",
                 .expected = "facet fit VECTORS --out RUN"});
  int64_t components = 0;
  FitEvents events;
  events.started = [&](const FitStart& start) {
    for (const FactorOptions& factor : start.factors) components += factor.components;
    fmt::print("fitting {} factor{} with {} components to {} vectors of {} dimensions\n",
               start.factors.size(), start.factors.size() == 1 ? "" : "s", components,
               start.vectors, start.dimensions);
  };
  events.callbacks.notice = [](const std::string& sentence) { fmt::print("note: {}\n", sentence); };
  events.callbacks.report = [&](const FitIteration& iteration) {
    if (is_shown(iteration)) print_iteration(iteration, components);
  };
  catch_interruption();
  events.callbacks.stop = interrupted;
  const FitSummary summary = fit_run(request_of(arguments), events);
  fmt::print("{} after {} iterations and {:.2f} s\n",
             summary.converged ? "converged"
             : interrupted()   ? "stopped"
                               : "not yet converged",
             summary.iterations, summary.seconds);
  print_vector_evaluation(summary.evaluation);
  fmt::print("run       {}\n", arguments.output);
  if (interrupted()) throw ExitStatus{interruption_status()};
}

}  // namespace

void add_fit_command(const Command& program) {
  auto arguments = std::make_shared<FitArguments>();
  const Command command =
      program.command("fit", "Fit the mixtures alone to vectors of your own, without networks");
  command.option("vectors", arguments->vectors,
                 "One row per vector: .npy, .csv, .fvecs, .bvecs, .ivecs or .safetensors");
  command.option("--out", arguments->output, "The run folder");
  const Option components = command
                                .option("--components", arguments->request.components,
                                        "K, the most components of a mixture")
                                .range(1, 1000000)
                                .show_default();
  command.option("--factors", arguments->factors,
                 "NAME:DIMENSIONS:COMPONENTS,...: blocks of columns with a mixture each; else one "
                 "mixture, 'all', for all columns");
  command.option("--labels", arguments->labels,
                 "A CSV with one row per vector, or a .npy of integers, to measure with and to "
                 "name factors by");
  command.repeated("--name", arguments->request.names,
                   "FACTOR=COLUMN: the labels of this column say the factor's component");
  command.option("--start", arguments->start,
                 "A .npy of integers: the component that each vector starts in; else k-means");
  command.option("--tensor", arguments->tensor, "The tensor of a .safetensors file");
  command.option("--config", arguments->config, "JSON with comments; docs/fit.md has the options");
  command.repeated("--set", arguments->settings, "Change an option of the config, key=value");
  command.flag("--describe-options", arguments->describe,
               "Print every option of a config and stop");
  command.run([arguments, components] {
    arguments->components_given = components.given();
    run_fit(*arguments);
  });
}

}  // namespace facet
