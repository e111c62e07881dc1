// `facet refine RUN`: trains a network that makes the pictures of a trained model sharp. The model
// stays as it is; `--refined` of the picture commands then uses the network. As one of several
// ranks it joins the others first, and only rank 0 shows anything.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/option_table.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "facet/core/error.h"
#include "facet/report/run_refining.h"
#include "facet/train/refine_report.h"
#include "facet/train/run_folder.h"

namespace facet {

namespace {

struct RefineArguments : RefineRequest {
  std::string network;
  int64_t steps = 0, batch_size = 0;
  uint64_t seed = 0;
  bool describe = false;
  RankArguments ranks;
};

/// All options as a Markdown page: docs/refine-config.md is this text.
void describe_refine_config() {
  fmt::print(
      "# Config reference of refiners\n\n"
      "Made by `facet refine --describe-options` from the declarations in the code. The config of "
      "a\nrefiner is JSON with comments, given by `--config`; every option may be left out. On the "
      "command\nline: `--set key=value`. [refine.md](refine.md) says what a refiner is.\n\n");
  print_option_table(describe_options<RefineConfig>());
}

/// The options with a name of their own as settings of the config, after those of --set.
void add_named_settings(RefineArguments& arguments, bool seed_given) {
  const auto add = [&](const std::string& key, const std::string& value) {
    arguments.settings.push_back(key + "=" + value);
  };
  if (!arguments.network.empty()) add("network.preset", arguments.network);
  if (arguments.steps > 0) add("steps", fmt::format("{}", arguments.steps));
  if (arguments.batch_size > 0) add("batch_size", fmt::format("{}", arguments.batch_size));
  if (seed_given) add("seed", fmt::format("{}", arguments.seed));
}

/// The command line of every rank.
void start_refining_processes(const RefineArguments& arguments) {
  const std::vector<std::string> shared = {arguments.run.string(), "--device", arguments.device,
                                           "--rank-timeout",
                                           fmt::format("{}", arguments.ranks.rank_timeout)};
  ProcessesRequest request{
      .count = arguments.ranks.processes,
      .arguments = {"refine"},
      .to_resume = {"refine", "--resume"},
      .to_continue = fmt::format("facet refine {} --resume", arguments.run.string()),
      .restarts = arguments.ranks.restarts,
      .timeout = arguments.ranks.timeout()};
  // A state that was there before is that of another refiner, unless it is resumed.
  const auto written = [state = RunFolder::of(arguments.run).refiner_state()] {
    std::error_code absent;
    return std::filesystem::last_write_time(state, absent);
  };
  request.has_checkpoint = [=, before = written(), resume = arguments.resume] {
    return written() != std::filesystem::file_time_type::min() && (resume || written() != before);
  };
  if (!arguments.config.empty())
    request.arguments.insert(request.arguments.end(), {"--config", arguments.config.string()});
  if (arguments.resume) request.arguments.emplace_back("--resume");
  if (arguments.overwrite) request.arguments.emplace_back("--overwrite");
  for (const std::string& setting : arguments.settings)
    request.arguments.insert(request.arguments.end(), {"--set", setting});
  for (auto* words : {&request.arguments, &request.to_resume}) {
    words->insert(words->end(), shared.begin(), shared.end());
    if (!arguments.pack.empty()) words->insert(words->end(), {"--pack", arguments.pack});
  }
  run_processes(request);
}

void run_refine(const RefineArguments& arguments) {
  if (arguments.ranks.starts_processes()) return start_refining_processes(arguments);
  if (arguments.place && arguments.place->rank > 0) {
    catch_interruption();
    if (!refine_run(arguments, {.stop = interrupted})) throw ExitStatus{interruption_status()};
    return;
  }
  const RunFolder folder = RunFolder::of(arguments.run);
  ProgressDisplay display;
  catch_interruption();
  RefineEvents events;
  events.started = [&](const RefineStart& start) {
    display.notice(
        fmt::format("refining with {} parameters on {} images, on {}{}; run folder {}",
                    start.parameters, start.images, start.device,
                    arguments.place ? fmt::format(" with {} ranks", arguments.place->size) : "",
                    folder.path.string()));
  };
  events.report = [&](const RefineReport& report) {
    display.progress(
        "refine", report.step, report.steps,
        fmt::format("loss {:.4f}, of latents {:.4f}", report.loss, report.latent_loss));
  };
  events.notice = [&](const std::string& sentence) { display.notice(sentence); };
  events.stop = interrupted;
  const bool finished = refine_run(arguments, events);
  display.finish();
  if (!finished) {
    fmt::print("stopped and saved; go on with: facet refine {} --resume\n", arguments.run.string());
    throw ExitStatus{interruption_status()};
  }
  fmt::print("refiner   {}\nsamples   {}\n", folder.refiner().string(),
             folder.refiner_samples().string());
}

}  // namespace

void add_refine_command(const Command& program) {
  auto arguments = std::make_shared<RefineArguments>();
  const Command command =
      program.command("refine", "Train a network that makes a model's pictures sharp");
  command.option("run", arguments->run, "A run folder");
  command.option("--config", arguments->config, "JSON with comments; see docs/refine.md");
  command.repeated("--set", arguments->settings, "Change an option of the config, key=value");
  command
      .option("--network", arguments->network,
              "The network's size; else as the images' size has it")
      .one_of({"small", "base"});
  command.option("--steps", arguments->steps, "Training steps").range(1, 100000000);
  command.option("--batch-size", arguments->batch_size, "Images per step").range(1, 100000);
  const Option seed = command.option("--seed", arguments->seed, "Seed of all random numbers");
  const Option resume =
      command.flag("--resume", arguments->resume, "Continue the refiner of the run");
  command
      .flag("--overwrite", arguments->overwrite, "Begin anew where the run has a refiner already")
      .excludes(resume);
  command.flag("--describe-options", arguments->describe,
               "Print every option of a config and stop");
  command.option("--pack", arguments->pack, "Train on this pack instead of the run's own");
  add_rank_options(command, arguments->ranks);
  command.device_option(arguments->device);
  command.run([arguments, seed] {
    if (arguments->describe) return describe_refine_config();
    if (arguments->run.empty()) Attempt{"refining"}.fail("no run", "facet refine RUN");
    add_named_settings(*arguments, seed.given());
    arguments->place = find_rank_place(process_environment());
    arguments->rank_timeout = arguments->ranks.timeout();
    run_refine(*arguments);
  });
}

}  // namespace facet
