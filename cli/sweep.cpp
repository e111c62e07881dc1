// `facet sweep CONFIG --vary key=v1,v2,... --out DIR`: trains every combination of the values as a
// run of its own and ends with one table, one picture, and the numbers as JSON and CSV. Several
// processes may do so together.
#include <algorithm>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/sweep_display.h"
#include "cli/sweep_start.h"
#include "facet/core/error.h"
#include "facet/core/shell.h"
#include "facet/report/run_training.h"
#include "facet/report/sweep_folder.h"
#include "facet/report/sweep_summary.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

size_t count_of(const std::vector<RunOutcome>& outcomes, RunState state) {
  return static_cast<size_t>(
      std::count_if(outcomes.begin(), outcomes.end(),
                    [&](const RunOutcome& outcome) { return outcome.state == state; }));
}

/// A sweep of which no run could even begin leaves nothing behind and fails as its first run did.
void take_back_if_nothing_began(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes,
                                const fs::path& folder, bool folder_is_new) {
  if (count_of(outcomes, RunState::failed) < plan.runs.size()) return;
  for (const SweepRun& run : plan.runs)
    if (fs::exists(folder / run.name)) return;
  fs::remove(folder / "sweep.json");
  if (folder_is_new) fs::remove(folder);
  std::rethrow_exception(outcomes.front().error);
}

void print_results(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes,
                   const SweepFolder& folder) {
  fmt::print("{}sweep     {}\n", sweep_table(plan, outcomes), folder.record().string());
  fmt::print("table     {}\n", folder.table().string());
  if (count_of(outcomes, RunState::finished) > 0)
    fmt::print("chart     {}\n", folder.chart().string());
}

/// Failures of runs have been told; what is left is the exit status, and defects of ours. Runs that
/// failed in other processes are theirs to report.
void report_failures(const std::vector<RunOutcome>& outcomes, const fs::path& folder) {
  size_t failed = 0;
  for (const RunOutcome& outcome : outcomes) {
    if (outcome.state != RunState::failed || !outcome.error) continue;
    ++failed;
    try {
      std::rethrow_exception(outcome.error);
    } catch (const Error&) {
    }
  }
  if (failed == 0) return;
  throw Error({.doing = "training the sweep in",
               .object = folder.string(),
               .found = fmt::format("{} of {} runs that failed", failed, outcomes.size()),
               .expected = "runs that reach their end",
               .cause = "what each has failed with is said above and in sweep.json"});
}

SweepEvents events_of(const SweepPlan& plan, SweepDisplay& display, const SweepFolder& folder) {
  SweepEvents events;
  events.started = [&display](size_t run) { display.started(run); };
  events.report = [&display](size_t run, const StepReport& report) { display.report(run, report); };
  events.notice = [&display](size_t run, const std::string& sentence) {
    display.notice(run, sentence);
  };
  events.ended = [&display, &folder](size_t run, const RunOutcome& outcome) {
    display.ended(run, outcome);
    folder.update(run, outcome);
  };
  events.latest = [&folder](size_t run) { return folder.outcome(run); };
  events.held = [&plan, &display](size_t run, const std::string& sentence) {
    display.notice(fmt::format("{}: {}", plan.runs[run].name, sentence));
  };
  events.stop = interrupted;
  return events;
}

std::string start_text(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes,
                       const SweepArguments& arguments, const Shard& shard) {
  std::string text = fmt::format("{} runs in {}, {} finished already", plan.runs.size(),
                                 arguments.output, count_of(outcomes, RunState::finished));
  if (!arguments.shard.empty())
    text += fmt::format("; this is shard {} of {}", shard.index + 1, shard.count);
  return text;
}

/// What others have not finished, or this process because it was told to stop.
void report_unfinished(const std::vector<RunOutcome>& outcomes, const fs::path& folder) {
  const size_t unfinished =
      count_of(outcomes, RunState::waiting) + count_of(outcomes, RunState::stopped);
  if (unfinished == 0) return;
  if (!interrupted()) {
    fmt::print(
        "{} of {} runs are not finished yet; the process that ends last completes the table\n",
        unfinished, outcomes.size());
    return;
  }
  fmt::print("stopped and saved; go on with: facet sweep --out {} --resume\n",
             shell_quoted(folder.string()));
  throw ExitStatus{interruption_status()};
}

void run_sweep_command(const SweepArguments& arguments) {
  const Shard shard = arguments.shard.empty() ? Shard{} : parse_shard(arguments.shard);
  const SweepPlan plan = starting_plan(arguments);
  const fs::path path = arguments.output;
  const SweepFolder folder(plan, path);
  std::vector<RunOutcome> outcomes = folder.outcomes();
  SweepDisplay display(plan, outcomes);
  SweepEvents events = events_of(plan, display, folder);
  bool folder_is_new = false;
  events.begin = [&](size_t jobs, const std::string& device) {
    folder_is_new = fs::create_directories(path);
    if (!folder.create() && !arguments.resume) require_same_plan(arguments);
    display.notice(fmt::format("{}; {} at a time, on {}",
                               start_text(plan, outcomes, arguments, shard), jobs, device));
    catch_interruption();
  };
  train_sweep(plan, {path, arguments.device, arguments.jobs, shard}, events, outcomes);
  end_on_interruption();
  display.finish();
  if (!arguments.resume && !arguments.joins())
    take_back_if_nothing_began(plan, outcomes, path, folder_is_new);
  const std::vector<RunOutcome> all = folder.write_summary();
  print_results(plan, all, folder);
  report_unfinished(all, path);
  report_failures(outcomes, path);
}

}  // namespace

void add_sweep_command(const Command& program) {
  auto arguments = std::make_shared<SweepArguments>();
  const Command command =
      program.command("sweep", "Train a config with every combination of some values");
  command.option("config", arguments->config, "JSON with comments; see docs/config.md");
  command.repeated("--vary", arguments->variations, "An option and its values, key=v1,v2,...");
  command.option("--out", arguments->output, "The folder of the runs").required();
  command.repeated("--set", arguments->settings,
                   "Change an option of the config for all runs, key=value");
  command
      .option("--jobs", arguments->jobs,
              "Runs at the same time; else as many as fit on a GPU, and on the CPU one")
      .range(1, 1024);
  const Option resume =
      command.flag("--resume", arguments->resume,
                   "Continue the sweep in --out: finished runs stay, others go on");
  command
      .flag("--join", arguments->join,
            "Start the sweep or take part in it: processes on machines that share --out, all with "
            "the same arguments, divide its runs")
      .excludes(resume);
  command
      .option("--shard", arguments->shard,
              "Take part with runs i, i+n, i+2n, ... only, i/n from 1/n to n/n; slurm: as many "
              "shards as the job array has tasks")
      .excludes(resume);
  command.device_option(arguments->device);
  command.run([arguments] { run_sweep_command(*arguments); });
}

}  // namespace facet
