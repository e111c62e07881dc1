#include "cli/facet_program.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/cut_files.h"
#include "facet/core/error.h"
#include "facet/core/memory.h"
#include "facet/core/process.h"
#include "facet/core/rank_place.h"
#include "facet/core/version.h"

namespace facet {

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

int run_facet_program(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is then an error with a line of its own
  report_cut_files();
  const Program program("Facet learns what images are made of.", "facet",
                        fmt::format("facet {}", version()));
  const Command commands = program.root();
  add_import_command(commands.under("Data"));
  add_init_command(commands.under("Data"));
  add_train_command(commands.under("Training"));
  add_sweep_command(commands.under("Training"));
  add_refine_command(commands.under("Training"));
  add_eval_command(commands.under("Training"));
  add_info_command(commands.under("Training"));
  add_check_command(commands.under("Training"));
  add_report_command(commands.under("Training"));
  add_serve_command(commands.under("Training"));
  add_survey_command(commands.under("Training"));
  add_sample_command(commands.under("Pictures"));
  add_grid_command(commands.under("Pictures"));
  add_clusters_command(commands.under("Pictures"));
  add_reconstruct_command(commands.under("Pictures"));
  add_edit_command(commands.under("Pictures"));
  add_label_command(commands.under("What a model says of images"));
  add_encode_command(commands.under("What a model says of images"));
  add_decode_command(commands.under("What a model says of images"));
  add_index_command(commands.under("What a model says of images"));
  add_search_command(commands.under("What a model says of images"));
  add_export_command(commands.under("Elsewhere"));
  add_fit_command(commands.under("Elsewhere"));
  add_predict_command(commands.under("Elsewhere"));
  add_bench_command(commands.under("The program"));
  add_manual_command(commands.under("The program"));
  add_completion_command(commands.under("The program"));
  use_all_processors();
  use_float32_convolutions();
  try {
    take_product_memory();
    return with_output(program.run(argc, argv));
  } catch (const NotFinite& error) {
    fmt::print(stderr, "facet: {}\n", error.what());
    return 1;
  } catch (const Error& error) {
    fmt::print(stderr, "facet: {}\n", error.what());
    return 2;
  } catch (const RankLost& error) {
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
    const LibraryFailure failure = library_failure(error);
    if (failure.out_of_memory) {
      fmt::print(stderr, "facet: computing: found too little memory, expected enough ({})\n",
                 failure.line);
      return 2;
    }
    fmt::print(stderr, "facet: a defect in facet, please report it: {}\n", failure.line);
    return 1;
  }
}

}  // namespace facet
