// `facet train CONFIG --out RUN`: trains, shows how it goes, and ends with the bound on the test
// split, a sheet of samples, and where everything is.
#include <csignal>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/server_process.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/data/image_file.h"
#include "facet/report/figures.h"
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

volatile std::sig_atomic_t interrupted = 0;

/// The first Ctrl-C asks the trainer to save and stop; a second one ends the program at once.
void install_interrupt_handler() {
  std::signal(SIGINT, [](int signal) {
    interrupted = 1;
    std::signal(signal, SIG_DFL);
  });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
}

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
    Config config = read_config(arguments.config, arguments.settings);
    if (!config.data.pack.empty())
      config.data.pack = std::filesystem::absolute(config.data.pack).lexically_normal().string();
    return config;
  }
  const RunFolder folder = RunFolder::open(arguments.output);
  Config saved = read_config(folder.config());
  // A pack may have moved; what the run was trained on is checked by its shape and value names.
  for (const std::string& setting : arguments.settings)
    if (setting.rfind("data.pack=", 0) == 0)
      saved.data.pack = std::filesystem::absolute(setting.substr(10)).lexically_normal().string();
  if (arguments.config.empty() && arguments.settings.empty()) return saved;
  Config given = arguments.config.empty() ? read_config(folder.config(), arguments.settings)
                                          : read_config(arguments.config, arguments.settings);
  given.data.pack = saved.data.pack;
  // Value names are the run's own: training took them from the data.
  for (size_t i = 0; i < std::min(given.model.factors.size(), saved.model.factors.size()); ++i)
    given.model.factors[i].values = saved.model.factors[i].values;
  if (const std::string difference = first_difference(saved, given); !difference.empty())
    throw Error({.doing = "resuming the run in",
                 .object = arguments.output,
                 .found = fmt::format("another config ({})", difference),
                 .expected = "the one it was started with",
                 .cause = "leave CONFIG and --set away to resume it as it is"});
  return saved;
}

void finish_run(Trainer& trainer, const Pack& pack, const Config& config, const RunFolder& folder,
                torch::Device device) {
  // The bound is for images that training never saw; a pack without a test split gets the train
  // one.
  const bool has_test = pack.split.eq(static_cast<int64_t>(Split::test)).any().item<bool>();
  const std::string split = has_test ? "test" : "train";
  const ImageSet images = select_images(pack, {parse_split(split)}, config.data, false, device);
  const Evaluation evaluation = evaluate(trainer.model(), images, pack.properties, split, {});
  write_text(folder.evaluation(), to_json(evaluation).dump(2) + "\n", "saving the evaluation");
  write_png(folder.samples(), draw(sample_figure(trainer.model(), {})));
  print_evaluation(evaluation);
  fmt::print("run       {}\nsamples   {}\n", folder.path.string(), folder.samples().string());
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
  install_interrupt_handler();
  Trainer trainer(config, pack, folder, device, arguments.resume,
                  {[&](const StepReport& report) { display.report(report); },
                   [&](const Evaluation& evaluation, const StepReport& report) {
                     display.evaluated(evaluation, report);
                   },
                   [&](const std::string& sentence) { display.notice(sentence); },
                   [] { return interrupted != 0; }});
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
  std::signal(SIGINT, SIG_DFL);  // everything is saved; what follows may be cut short
  std::signal(SIGTERM, SIG_DFL);
  finish_run(trainer, pack, config, folder, device);
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
