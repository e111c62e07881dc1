// `facet train CONFIG --out RUN`: trains, shows how it goes, and ends with the bound on the test
// split, a sheet of samples, and where everything is.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/option_table.h"
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

void run_train(const TrainArguments& arguments) {
  if (arguments.describe) return describe_config();
  const TrainingRequest request{config_of(arguments), arguments.output, arguments.device,
                                arguments.resume};
  const RunFolder folder{arguments.output};
  ProgressDisplay display;
  std::unique_ptr<ServerProcess> server;
  catch_interruption();
  TrainingEvents events;
  events.training.report = [&](const StepReport& report) { display.report(report); };
  events.training.evaluated = [&](const Evaluation& evaluation, const StepReport& report) {
    display.evaluated(evaluation, report);
  };
  events.training.notice = [&](const std::string& sentence) { display.notice(sentence); };
  events.training.stop = interrupted;
  events.started = [&](const TrainingStart& start) {
    display.notice(
        fmt::format("training {} network parameters on {} images, on {} with about "
                    "{:.1f} GB of memory; run folder {}",
                    start.network_parameters, start.images, start.device, start.memory / 1e9,
                    arguments.output));
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
    throw ExitStatus{130};
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
