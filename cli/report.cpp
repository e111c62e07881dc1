// `facet report RUN`: the run as one HTML file that needs nothing else: curves, pictures, measures
// and config.
#include "facet/report/report.h"

#include <chrono>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/file.h"

namespace facet {

namespace {

struct ReportArguments {
  std::string run, output, device = "auto";
  bool judge = false;
};

void run_report(const ReportArguments& arguments, const std::string& version) {
  const auto start = std::chrono::steady_clock::now();
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  const std::filesystem::path output =
      arguments.output.empty() ? run.folder.report() : std::filesystem::path(arguments.output);
  constexpr const char* doing = "writing a report";
  { AtomicFile probe(output, doing); }  // a place that cannot be written is said before the work
  const Pack pack = load_data(run.config.data);
  require_shape(pack, *run.model, run.config.data.pack);
  const auto notice = [](const std::string& sentence) {
    fmt::print("{}\n", sentence);
    std::fflush(stdout);
  };
  const std::string page = report_page(gather_report(run.folder, run.config, *run.model, pack,
                                                     {.judge = arguments.judge,
                                                      .command_path = arguments.run,
                                                      .version = version,
                                                      .notice = notice}));
  write_text(output, page, doing);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print("{:.1f} MB in {:.0f} s\nreport    {}\n", static_cast<double>(page.size()) / 1e6,
             seconds.count(), output.string());
}

}  // namespace

void add_report_command(CLI::App& program) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = program.add_subcommand(
      "report", "Write a run's curves, pictures, measures and config as one HTML file");
  command->add_option("run", arguments->run, "A run folder")->required();
  command->add_option("--out", arguments->output, "The file to write; else report.html in the run");
  command->add_flag("--judge", arguments->judge,
                    "Also train a classifier on the labels and ask it about samples");
  add_device_option(*command, arguments->device);
  command->callback([arguments, &program] { run_report(*arguments, program.version()); });
}

}  // namespace facet
