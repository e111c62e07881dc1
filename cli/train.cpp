// `facet train CONFIG --out RUN`: trains, shows how it goes, and ends with the bound on the test
// split, a sheet of samples, and where everything is. As one of several ranks it joins the others
// first, and only rank 0 shows anything.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/option_table.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "cli/server_process.h"
#include "facet/core/error.h"
#include "facet/report/run_training.h"

namespace facet {

namespace {

struct TrainArguments {
  std::string config, output, device = "auto";
  std::vector<std::string> settings;
  bool resume = false, describe = false;
  int serve_port = 0;
  bool serve = false;
  RankArguments ranks;
};

/// All options as a Markdown page: docs/config.md is this text.
void describe_config() {
  fmt::print(
      "# Config reference\n\n"
      "Made by `facet train --describe-options` from the declarations in the code. Configs are "
      "JSON\n"
      "with comments; every option may be left out. On the command line: `--set key=value`, where\n"
      "`N` in a key is an index into a list, from 0.\n\n");
  print_option_table(describe_options<Config>());
}

Config config_of(const TrainArguments& arguments) {
  if (!arguments.resume) {
    if (arguments.config.empty())
      throw Error({.doing = "starting a run in",
                   .object = arguments.output,
                   .found = "no config",
                   .expected = "facet train CONFIG.json --out RUN, or --resume"});
    return with_absolute_pack(read_config(arguments.config, arguments.settings));
  }
  const RunFolder folder = RunFolder::open(arguments.output);
  Config saved = read_saved_config(folder.config());
  // A pack may have moved; what the run was trained on is checked by its shape and value names.
  for (const std::string& setting : arguments.settings)
    if (setting.rfind("data.pack=", 0) == 0) saved.data.pack = setting.substr(10);
  saved = with_absolute_pack(saved);
  if (arguments.config.empty() && arguments.settings.empty()) return saved;
  const Config given = arguments.config.empty()
                           ? read_saved_config(folder.config(), arguments.settings)
                           : read_config(arguments.config, arguments.settings);
  const Config longer = extended(saved, given);
  if (const std::string difference = difference_on_resume(longer, given); !difference.empty())
    throw Error({.doing = "resuming the run in",
                 .object = arguments.output,
                 .found = fmt::format("another config ({})", difference),
                 .expected = "the one it was started with",
                 .cause =
                     "train.joint.steps may change, all else stays; leave CONFIG and --set away "
                     "to resume it as it is"});
  return longer;
}

/// Trains silently.
void train_as_further_rank(const TrainingRequest& request) {
  TrainingEvents events;
  events.training.stop = interrupted;
  if (!train_run(request, events)) throw ExitStatus{interruption_status()};
}

/// The command line of every rank.
void start_processes(const TrainArguments& arguments) {
  config_of(arguments);  // whose mistakes are told once
  const std::vector<std::string> shared = {
      "--out",          arguments.output, "--device",
      arguments.device, "--rank-timeout", fmt::format("{}", arguments.ranks.rank_timeout)};
  ProcessesRequest request{
      .count = arguments.ranks.processes,
      .arguments = {"train"},
      .to_resume = {"train", "--resume"},
      .has_checkpoint =
          [state = RunFolder{arguments.output}.state()] { return std::filesystem::exists(state); },
      .to_continue = fmt::format("facet train --out {} --resume", arguments.output),
      .restarts = arguments.ranks.restarts,
      .timeout = arguments.ranks.timeout()};
  if (!arguments.config.empty()) request.arguments.push_back(arguments.config);
  if (arguments.resume) request.arguments.emplace_back("--resume");
  for (const std::string& setting : arguments.settings)
    request.arguments.insert(request.arguments.end(), {"--set", setting});
  for (auto* words : {&request.arguments, &request.to_resume})
    words->insert(words->end(), shared.begin(), shared.end());
  if (arguments.serve) request.of_first = {fmt::format("--serve={}", arguments.serve_port)};
  run_processes(request);
}

void run_train(const TrainArguments& arguments) {
  if (arguments.describe) return describe_config();
  if (arguments.ranks.starts_processes()) return start_processes(arguments);
  const Config config = config_of(arguments);
  catch_interruption();
  const TrainingRequest request{config,
                                arguments.output,
                                arguments.device,
                                arguments.resume,
                                find_rank_place(process_environment()),
                                arguments.ranks.timeout()};
  if (request.place && request.place->rank > 0) return train_as_further_rank(request);
  const RunFolder folder{arguments.output};
  ProgressDisplay display;
  std::unique_ptr<ServerProcess> server;
  TrainingEvents events;
  events.training.report = [&](const StepReport& report) { display.report(report); };
  events.training.evaluated = [&](const Evaluation& evaluation, const StepReport& report) {
    display.evaluated(evaluation, report);
  };
  events.training.notice = [&](const std::string& sentence) { display.notice(sentence); };
  events.training.stop = interrupted;
  events.started = [&](const TrainingStart& start) {
    display.notice(
        fmt::format("training {} network parameters on {} images, on {}{} with about "
                    "{:.1f} GB of memory; run folder {}",
                    start.network_parameters, start.images, start.device,
                    !request.place ? "" : fmt::format(" with {} ranks,", request.place->size),
                    start.memory / 1e9, arguments.output));
    if (arguments.serve)
      server = std::make_unique<ServerProcess>(arguments.output, arguments.serve_port);
  };
  events.trained = [&] {
    display.finish();
    end_on_interruption();  // everything is saved; what follows may be cut short
  };
  const std::optional<Evaluation> evaluation = train_run(request, events);
  display.finish();
  if (!evaluation) {
    fmt::print("stopped and saved; go on with: facet train --out {} --resume\n", arguments.output);
    throw ExitStatus{interruption_status()};
  }
  print_evaluation(*evaluation);
  fmt::print("run       {}\nsamples   {}\n", arguments.output, folder.samples().string());
}

}  // namespace

void add_train_command(const Command& program) {
  auto arguments = std::make_shared<TrainArguments>();
  const Command command = program.command("train", "Train a model");
  command.option("config", arguments->config, "JSON with comments; see docs/config.md");
  const Option output = command.option("--out", arguments->output, "The run folder");
  command.repeated("--set", arguments->settings, "Change an option of the config, key=value");
  command.flag("--resume", arguments->resume, "Continue the run in --out");
  const Option serve =
      command
          .flag("--serve{8080}", arguments->serve_port,
                "Show the training in the browser while it runs; --serve=PORT names a port")
          .range(0, 65535);
  add_rank_options(command, arguments->ranks);
  const Option describe = command.flag("--describe-options", arguments->describe,
                                       "Print every option of a config and stop");
  output.excludes(describe);
  command.device_option(arguments->device);
  command.run([arguments, serve] {
    arguments->serve = serve.given();
    if (arguments->output.empty() && !arguments->describe)
      throw Error({.doing = "starting a run",
                   .object = "--out",
                   .found = "no folder",
                   .expected = "facet train CONFIG.json --out RUN"});
    run_train(*arguments);
  });
}

}  // namespace facet
