// The program `facet`: routes to the commands and turns what they throw into one line and an exit
// status, 2 for what the user can mend and 1 for a defect of ours.
#include <cstdio>
#include <filesystem>
#include <new>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/error.h"
#include "facet/core/threads.h"

namespace {

/// One line about arguments that cannot be, with near matches for a misspelled option or command.
std::string complaint(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* command = &program;  // the innermost one that was named
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  if (const auto extras = program.remaining(true); !extras.empty()) {
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const CLI::App* below : command->get_subcommands([](const CLI::App*) { return true; }))
      if (!below->get_name().empty()) known.push_back(below->get_name());
    return facet::to_string({.doing = "reading the command line",
                             .object = extras.front(),
                             .found = "an unknown option or command",
                             .expected = "a known one",
                             .cause = facet::suggest(extras.front(), known)});
  }
  return fmt::format("reading the command line: {} (--help says more)", error.what());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Facet learns what images are made of.", "facet");
  program.set_version_flag("--version", "facet " FACET_VERSION);
  program.require_subcommand(1);
  facet::add_train_command(program);
  facet::add_sweep_command(program);
  facet::add_eval_command(program);
  facet::add_sample_command(program);
  facet::add_grid_command(program);
  facet::add_clusters_command(program);
  facet::add_reconstruct_command(program);
  facet::add_edit_command(program);
  facet::add_report_command(program);
  facet::add_serve_command(program);
  facet::add_import_command(program);
  facet::add_info_command(program);
  facet::add_bench_command(program);
  facet::use_all_processors();
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& error) {  // a command chose its exit status
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help and --version
    fmt::print(stderr, "facet: {}\n", complaint(program, error));
    return 2;
  } catch (const facet::Error& error) {
    fmt::print(stderr, "facet: {}\n", error.what());
    return 2;
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    const std::string line = text.substr(0, text.find('\n'));
    if (text.find("allocate memory") != std::string::npos ||
        text.find("out of memory") != std::string::npos) {
      fmt::print(stderr, "facet: computing: found too little memory, expected enough ({})\n", line);
      return 2;
    }
    fmt::print(stderr, "facet: a defect in facet, please report it: {}\n", line);
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    fmt::print(stderr, "facet: using files: found '{}', expected a path that can be used\n",
               error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "facet: computing: found too little memory, expected enough\n");
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "facet: a defect in facet, please report it: {}\n", error.what());
    return 1;
  }
}
