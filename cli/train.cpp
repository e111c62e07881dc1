// `facet train CONFIG --out RUN`: trains, shows how it goes, and ends with the bound on the test
// split, a sheet of samples, and where everything is.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/run_end.h"
#include "cli/server_process.h"
#include "facet/core/error.h"
#include "facet/train/trainer.h"

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
      "`N` in a key is an index into a list, from 0.\n\n"
      "| option | default | allowed | meaning |\n|---|---|---|---|\n");
  for (const OptionDescription& option : describe_options<Config>()) {
    const bool group = option.type.find("group") != std::string::npos;
    const std::string allowed = group ? "" : option.allowed.empty() ? option.type : option.allowed;
    fmt::print("| `{}` | {} | {} | {}{}{} |\n", option.key,
               group ? "" : fmt::format("`{}`", option.default_value), allowed, group ? "**" : "",
               option.help, group ? "**" : "");
  }
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
  Config saved = read_config(folder.config());
  // A pack may have moved; what the run was trained on is checked by its shape and value names.
  for (const std::string& setting : arguments.settings)
    if (setting.rfind("data.pack=", 0) == 0) saved.data.pack = setting.substr(10);
  saved = with_absolute_pack(saved);
  if (arguments.config.empty() && arguments.settings.empty()) return saved;
  const Config given = arguments.config.empty() ? read_config(folder.config(), arguments.settings)
                                                : read_config(arguments.config, arguments.settings);
  if (const std::string difference = difference_on_resume(saved, given); !difference.empty())
    throw Error({.doing = "resuming the run in",
                 .object = arguments.output,
                 .found = fmt::format("another config ({})", difference),
                 .expected = "the one it was started with",
                 .cause = "leave CONFIG and --set away to resume it as it is"});
  return saved;
}

void run_train(const TrainArguments& arguments) {
  if (arguments.describe) return describe_config();
  const Config config = config_of(arguments);
  const torch::Device device = choose_device(arguments.device);
  if (!arguments.resume && std::filesystem::exists(RunFolder{arguments.output}.config()))
    RunFolder::create(arguments.output);  // says that a run is there, before any work is done
  const Pack pack = load_data(config.data);
  // The trainer makes the folder of a new run, after all checks of the config.
  const RunFolder folder =
      arguments.resume ? RunFolder::open(arguments.output) : RunFolder{arguments.output};
  ProgressDisplay display;
  save_on_interrupt();
  Trainer trainer(config, pack, folder, device, arguments.resume,
                  {[&](const StepReport& report) { display.report(report); },
                   [&](const Evaluation& evaluation, const StepReport& report) {
                     display.evaluated(evaluation, report);
                   },
                   [&](const std::string& sentence) { display.notice(sentence); }, interrupted});
  display.notice(fmt::format("training {} network parameters on {} images, on {}; run folder {}",
                             trainer.model().network_parameters(), trainer.image_count(),
                             device.str(), folder.path.string()));
  std::unique_ptr<ServerProcess> server;
  if (arguments.serve) server = std::make_unique<ServerProcess>(folder.path, arguments.serve_port);
  const bool finished = trainer.run();
  display.finish();
  if (!finished) {
    fmt::print("stopped and saved; go on with: facet train --out {} --resume\n",
               folder.path.string());
    throw CLI::RuntimeError(130);
  }
  end_on_interrupt();  // everything is saved; what follows may be cut short
  print_evaluation(finish_run(trainer, pack, config, folder, device));
  fmt::print("run       {}\nsamples   {}\n", folder.path.string(), folder.samples().string());
}

}  // namespace

void add_train_command(CLI::App& program) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = program.add_subcommand("train", "Train a model");
  command->add_option("config", arguments->config, "JSON with comments; see docs/config.md");
  CLI::Option* output = command->add_option("--out", arguments->output, "The run folder");
  add_repeated_option(*command, "--set", arguments->settings,
                      "Change an option of the config, key=value; may be repeated");
  command->add_flag("--resume", arguments->resume, "Continue the run in --out");
  CLI::Option* serve =
      command
          ->add_flag("--serve{8080}", arguments->serve_port,
                     "Show the training in the browser while it runs; --serve=PORT names a port")
          ->check(CLI::Range(0, 65535));
  CLI::Option* describe = command->add_flag("--describe-options", arguments->describe,
                                            "Print every option of a config and stop");
  output->excludes(describe);
  add_device_option(*command, arguments->device);
  command->callback([arguments, serve] {
    arguments->serve = serve->count() > 0;
    if (arguments->output.empty() && !arguments->describe)
      throw Error({.doing = "starting a run",
                   .object = "--out",
                   .found = "no folder",
                   .expected = "facet train CONFIG.json --out RUN"});
    run_train(*arguments);
  });
}

}  // namespace facet
