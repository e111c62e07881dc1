// `facet report RUN`: the run as one HTML file that needs nothing else: curves, pictures, measures
// and config.
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "cli/picture_options.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/report/fit_report.h"
#include "facet/report/run_report.h"

namespace facet {

namespace {

struct ReportArguments {
  std::string run, output, survey, device = "auto";
  bool judge = false;
  RefineChoice refine;
};

void write_report(const ReportArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const bool fitted = is_fit_run(arguments.run);
  if (fitted && (arguments.judge || arguments.refine.refined || !arguments.survey.empty()))
    throw Error({.doing = "writing a report of",
                 .object = arguments.run,
                 .found = arguments.judge            ? "the option --judge"
                          : arguments.refine.refined ? "the option --refined"
                                                     : "the option --survey",
                 .expected = "a model that makes images; a mixture of vectors has no decoder"});
  std::optional<LoadedRun> run;
  if (!fitted) run = load_run(arguments.run, {arguments.device});
  const std::filesystem::path output = arguments.output.empty()
                                           ? RunFolder::of(arguments.run).report()
                                           : std::filesystem::path(arguments.output);
  constexpr const char* doing = "writing a report";
  { AtomicFile probe(output, doing); }  // a place that cannot be written is said before the work
  const auto notice = [](const std::string& sentence) {
    fmt::print("{}\n", sentence);
    std::fflush(stdout);
  };
  const std::string page = fitted ? fit_report(arguments.run, {arguments.run, notice})
                                  : run_report(*run, {arguments.judge, arguments.refine,
                                                      arguments.survey, arguments.run, notice});
  write_text(output, page, doing);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print("{:.1f} MB in {:.0f} s\nreport    {}\n", static_cast<double>(page.size()) / 1e6,
             seconds.count(), output.string());
}

}  // namespace

void add_report_command(const Command& program) {
  auto arguments = std::make_shared<ReportArguments>();
  const Command command = program.command(
      "report", "Write a run's curves, pictures, measures and config as one HTML file");
  command.option("run", arguments->run, "A run folder").required();
  command.option("--out", arguments->output, "The file to write; else report.html in the run");
  command.flag("--judge", arguments->judge,
               "Also train a classifier on the labels and ask it about samples");
  command.option("--survey", arguments->survey,
                 "Show what people answered in this survey; else in the folder survey of the run");
  add_refine_options(command, arguments->refine);
  command.device_option(arguments->device);
  command.run([arguments] { write_report(*arguments); });
}

}  // namespace facet
