#include "cli/facet_program.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

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

constexpr const char* kPrinting =
    "printing: found that not all could be written, expected room for it";

/// The status of a command that has ended with `status`: what it printed must have arrived.
int with_output(int status) {
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (arrived || status != 0) return status;
  complain(kPrinting);
  return 2;
}

/// What the system would not do.
std::string system_failure(const std::system_error& error) {
  const std::error_code code = error.code();
  if (code == std::errc::resource_unavailable_try_again || code == std::errc::not_enough_memory)
    return fmt::format(
        "computing: found too little memory or too few threads, expected enough ({})",
        code.message());
  for (const std::errc printing :
       {std::errc::no_space_on_device, std::errc::bad_file_descriptor, std::errc::broken_pipe,
        std::errc::file_too_large, std::errc::io_error})
    if (code == printing) return kPrinting;
  return fmt::format("using the system: found '{}', expected that it works", error.what());
}

}  // namespace

int run_facet_program(int argc, char** argv) {
  occupy_standard_files();
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
    complain(error.what());
    return 1;
  } catch (const Error& error) {
    complain(error.what());
    return 2;
  } catch (const RankLost& error) {
    complain(error.what());
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    complain(
        fmt::format("using files: found '{}', expected a path that can be used", error.what()));
    return 2;
  } catch (const std::system_error& error) {
    complain(system_failure(error));
    return 2;
  } catch (const std::bad_alloc&) {
    complain("computing: found too little memory, expected enough");
    return 2;
  } catch (const std::exception& error) {
    const LibraryFailure failure = library_failure(error);
    if (failure.out_of_memory) {
      complain(
          fmt::format("computing: found too little memory, expected enough ({})", failure.line));
      return 2;
    }
    complain("a defect in facet, please report it: " + failure.line);
    return 1;
  }
}

}  // namespace facet
