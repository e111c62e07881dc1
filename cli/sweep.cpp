// `facet sweep CONFIG --vary key=v1,v2,... --out DIR`: trains every combination of the values as a
// run of its own and ends with one table, one picture, and the numbers as JSON and CSV.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/sweep_display.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/shell.h"
#include "facet/data/image_file.h"
#include "facet/report/run_training.h"
#include "facet/report/sweep_summary.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

struct SweepArguments {
  std::string config, output, device = "auto";
  std::vector<std::string> variations, settings;
  bool resume = false;
  int64_t jobs = 0;  ///< 0: as many as fit on a GPU, one on the CPU
};

fs::path record_path(const fs::path& folder) { return folder / "sweep.json"; }

[[noreturn]] void refuse(const SweepArguments& arguments, const std::string& found,
                         const std::string& expected, const std::string& cause = "") {
  throw Error({.doing = arguments.resume ? "resuming the sweep in" : "starting a sweep in",
               .object = arguments.output,
               .found = found,
               .expected = expected,
               .cause = cause});
}

std::vector<Variation> parse_variations(const std::vector<std::string>& texts) {
  std::vector<Variation> variations;
  for (const std::string& text : texts) variations.push_back(parse_variation(text));
  return variations;
}

SweepPlan new_plan(const SweepArguments& arguments) {
  if (arguments.config.empty())
    refuse(arguments, "no config",
           "facet sweep CONFIG.json --vary key=v1,v2 --out DIR, or --resume");
  const fs::path folder = arguments.output;
  if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder)))
    refuse(arguments, fs::is_directory(folder) ? "a folder that is not empty" : "a file",
           "a new or empty folder", "--resume continues a sweep; --out names another folder");
  return plan_sweep(read_config(arguments.config, arguments.settings),
                    parse_variations(arguments.variations), arguments.config);
}

Json read_record(const SweepArguments& arguments) {
  const fs::path path = record_path(arguments.output);
  if (!fs::exists(path))
    refuse(arguments, "no sweep.json in it", "a folder that 'facet sweep --out' has made",
           "is the path spelled right?");
  return parse_config(read_text(path, "reading the plan of a sweep"), path.string());
}

/// The plan that was saved; an Error where arguments that are given again say something else.
SweepPlan saved_plan(const SweepArguments& arguments, const Json& record) {
  const std::string object = record_path(arguments.output).string();
  SweepPlan saved = plan_of_json(record, object);
  for (const std::string& setting : arguments.settings)  // a pack may have moved
    if (setting.rfind("data.pack=", 0) == 0) saved.base.data.pack = setting.substr(10);
  Json given = arguments.config.empty()
                   ? write_options(saved.base)
                   : write_options(read_config(arguments.config, arguments.settings));
  for (const std::string& setting : arguments.settings) apply_setting(given, setting);
  Config config;
  read_options(config, given, arguments.config.empty() ? object : arguments.config);
  if (const std::string difference = difference_on_resume(saved.base, config); !difference.empty())
    refuse(arguments, fmt::format("another config ({})", difference), "the one it was started with",
           "leave CONFIG and --set away to resume it as it is");
  const auto same = [](const Variation& one, const Variation& other) {
    return one.key == other.key && one.values == other.values;
  };
  const auto variations = parse_variations(arguments.variations);
  if (!variations.empty() && !std::equal(variations.begin(), variations.end(),
                                         saved.variations.begin(), saved.variations.end(), same))
    refuse(arguments, "another --vary", "the values it was started with",
           "leave --vary away to resume it as it is");
  const SweepPlan plan = plan_sweep(saved.base, saved.variations, object);
  require_same_configs(plan, arguments.output);
  return plan;
}

/// What is on the disk and on the screen while runs go on; hears of them from their threads.
class SweepWatch {
 public:
  SweepWatch(const SweepPlan& plan, const fs::path& folder, std::vector<RunOutcome> outcomes)
      : display(plan, outcomes), plan_(plan), folder_(folder), outcomes_(std::move(outcomes)) {}

  void ended(size_t run, const RunOutcome& outcome) {
    display.ended(run, outcome);
    const std::lock_guard lock(mutex_);
    outcomes_[run] = outcome;
    write_record();
  }
  void write_record() const {
    write_text(record_path(folder_), sweep_record(plan_, outcomes_).dump(2) + "\n",
               "saving the state of a sweep");
  }

  SweepDisplay display;

 private:
  const SweepPlan& plan_;
  fs::path folder_;
  std::mutex mutex_;
  std::vector<RunOutcome> outcomes_;  ///< as far as runs have ended
};

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
  fs::remove(record_path(folder));
  if (folder_is_new) fs::remove(folder);
  std::rethrow_exception(outcomes.front().error);
}

void write_results(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes,
                   const fs::path& folder) {
  write_text(folder / "sweep.csv", sweep_csv(plan, outcomes), "saving the table of a sweep");
  fmt::print("{}sweep     {}\n", sweep_table(plan, outcomes), record_path(folder).string());
  fmt::print("table     {}\n", (folder / "sweep.csv").string());
  if (count_of(outcomes, RunState::finished) == 0) return;
  write_png(folder / "sweep.png", draw_plot(sweep_plot(plan, outcomes)));
  fmt::print("chart     {}\n", (folder / "sweep.png").string());
}

/// Failures of runs have been told; what is left is the exit status, and defects of ours.
void report_failures(const std::vector<RunOutcome>& outcomes, const fs::path& folder) {
  const size_t failed = count_of(outcomes, RunState::failed);
  if (failed == 0) return;
  for (const RunOutcome& outcome : outcomes) {
    if (outcome.state != RunState::failed) continue;
    try {
      std::rethrow_exception(outcome.error);
    } catch (const Error&) {
    }
  }
  throw Error({.doing = "training the sweep in",
               .object = folder.string(),
               .found = fmt::format("{} of {} runs that failed", failed, outcomes.size()),
               .expected = "runs that reach their end",
               .cause = "what each has failed with is said above and in sweep.json"});
}

SweepEvents events_of(SweepWatch& watch) {
  SweepEvents events;
  events.started = [&watch](size_t run) { watch.display.started(run); };
  events.report = [&watch](size_t run, const StepReport& report) {
    watch.display.report(run, report);
  };
  events.notice = [&watch](size_t run, const std::string& sentence) {
    watch.display.notice(run, sentence);
  };
  events.ended = [&watch](size_t run, const RunOutcome& outcome) { watch.ended(run, outcome); };
  events.stop = interrupted;
  return events;
}

void run_sweep_command(const SweepArguments& arguments) {
  const Json record = arguments.resume ? read_record(arguments) : Json();
  const SweepPlan plan = arguments.resume ? saved_plan(arguments, record) : new_plan(arguments);
  const fs::path folder = arguments.output;
  std::vector<RunOutcome> outcomes = known_outcomes(plan, record, folder);
  SweepWatch watch(plan, folder, outcomes);
  SweepEvents events = events_of(watch);
  bool folder_is_new = false;
  events.begin = [&](size_t jobs, const std::string& device) {
    folder_is_new = fs::create_directories(folder);
    watch.write_record();
    watch.display.notice(fmt::format("{} runs in {}, {} finished already; {} at a time, on {}",
                                     plan.runs.size(), folder.string(),
                                     count_of(outcomes, RunState::finished), jobs, device));
    catch_interruption();
  };
  train_sweep(plan, {folder, arguments.device, arguments.jobs}, events, outcomes);
  end_on_interruption();
  watch.display.finish();
  if (!arguments.resume) take_back_if_nothing_began(plan, outcomes, folder, folder_is_new);
  write_results(plan, outcomes, folder);
  const size_t waiting = count_of(outcomes, RunState::waiting);
  if (waiting + count_of(outcomes, RunState::stopped) > 0) {
    fmt::print("stopped and saved; go on with: facet sweep --out {} --resume\n",
               shell_quoted(folder.string()));
    throw ExitStatus{130};
  }
  report_failures(outcomes, folder);
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
  command.flag("--resume", arguments->resume,
               "Continue the sweep in --out: finished runs stay, others go on");
  command.device_option(arguments->device);
  command.run([arguments] { run_sweep_command(*arguments); });
}

}  // namespace facet
