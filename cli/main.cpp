// The program `facet`: routes to the commands and turns what they throw into one line and an exit
// status, 2 for what the user can mend, 1 for numbers that are not finite and for a defect of ours.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/cut_files.h"
#include "facet/core/error.h"
#include "facet/core/process.h"
#include "facet/core/rank_place.h"
#include "facet/core/version.h"

namespace {

/// The status of a command that has ended with `status`: what it printed must have arrived.
int with_output(int status) {
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (arrived || status != 0) return status;
  fmt::print(stderr,
             "facet: printing: found that not all could be written, expected room for it\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is then an error with a line of its own
  facet::report_cut_files();
  const facet::Program program("Facet learns what images are made of.", "facet",
                               fmt::format("facet {}", facet::version()));
  const facet::Command commands = program.root();
  facet::add_import_command(commands.under("Data"));
  facet::add_init_command(commands.under("Data"));
  facet::add_train_command(commands.under("Training"));
  facet::add_sweep_command(commands.under("Training"));
  facet::add_refine_command(commands.under("Training"));
  facet::add_eval_command(commands.under("Training"));
  facet::add_info_command(commands.under("Training"));
  facet::add_check_command(commands.under("Training"));
  facet::add_report_command(commands.under("Training"));
  facet::add_serve_command(commands.under("Training"));
  facet::add_survey_command(commands.under("Training"));
  facet::add_sample_command(commands.under("Pictures"));
  facet::add_grid_command(commands.under("Pictures"));
  facet::add_clusters_command(commands.under("Pictures"));
  facet::add_reconstruct_command(commands.under("Pictures"));
  facet::add_edit_command(commands.under("Pictures"));
  facet::add_label_command(commands.under("What a model says of images"));
  facet::add_encode_command(commands.under("What a model says of images"));
  facet::add_decode_command(commands.under("What a model says of images"));
  facet::add_index_command(commands.under("What a model says of images"));
  facet::add_search_command(commands.under("What a model says of images"));
  facet::add_export_command(commands.under("Elsewhere"));
  facet::add_fit_command(commands.under("Elsewhere"));
  facet::add_predict_command(commands.under("Elsewhere"));
  facet::add_bench_command(commands.under("The program"));
  facet::add_manual_command(commands.under("The program"));
  facet::add_completion_command(commands.under("The program"));
  facet::use_all_processors();
  facet::use_float32_convolutions();
  try {
    return with_output(program.run(argc, argv));
  } catch (const facet::NotFinite& error) {
    fmt::print(stderr, "facet: {}\n", error.what());
    return 1;
  } catch (const facet::Error& error) {
    fmt::print(stderr, "facet: {}\n", error.what());
    return 2;
  } catch (const facet::RankLost& error) {
    fmt::print(stderr, "facet: {}\n", error.what());
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    fmt::print(stderr, "facet: using files: found '{}', expected a path that can be used\n",
               error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "facet: computing: found too little memory, expected enough\n");
    return 2;
  } catch (const std::exception& error) {
    const facet::LibraryFailure failure = facet::library_failure(error);
    if (failure.out_of_memory) {
      fmt::print(stderr, "facet: computing: found too little memory, expected enough ({})\n",
                 failure.line);
      return 2;
    }
    fmt::print(stderr, "facet: a defect in facet, please report it: {}\n", failure.line);
    return 1;
  }
}
