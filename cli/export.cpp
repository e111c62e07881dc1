// `facet export onnx|page|model RUN`: a trained model for other programs, and other people.
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/shell.h"
#include "facet/export/run_export.h"

namespace facet {

namespace {

double kilobytes(size_t bytes) { return static_cast<double>(bytes) / 1000; }

void print_files(const ExportRequest& request, const ExportSummary& summary) {
  for (const ExportSummary::File& file : summary.files)
    fmt::print("  {:<19} {:>9.1f} kB\n", file.name, kilobytes(file.bytes));
  fmt::print("{}: {} files\n", request.folder, summary.files.size());
}

void run_page(const ExportRequest& request) {
  const ExportSummary summary = export_page(request);
  size_t bytes = 0;
  for (const ExportSummary::File& file : summary.files) bytes += file.bytes;
  fmt::print("{}: {} files, {:.1f} MB, for any file host\n", request.folder, summary.files.size(),
             kilobytes(bytes) / 1000);
  fmt::print("  to try it: python3 -m http.server --directory {}\n", shell_quoted(request.folder));
}

void add_shared_options(const Command& command, ExportRequest& request) {
  command.option("run", request.run, "A run folder, or a model file in one").required();
  command.option("--out", request.folder, "The folder to write, new or empty").required();
  command.flag("--force", request.force, "Write into a folder that has files");
}

void add_onnx(const Command& parent) {
  auto request = std::make_shared<ExportRequest>();
  const Command command =
      parent.command("onnx", "Encoder, decoder, assignments and sampler as ONNX files");
  add_shared_options(command, *request);
  command.run([request] { print_files(*request, export_onnx(*request)); });
}

void add_model(const Command& parent) {
  auto request = std::make_shared<ExportRequest>();
  const Command command =
      parent.command("model", "The run without its training: config, model, refiner and names");
  add_shared_options(command, *request);
  command.option("--weights", request->weights, "bf16 rounds the networks' weights: half the bytes")
      .one_of({"float32", "bf16"})
      .show_default();
  command.run([request] { print_files(*request, export_model(*request)); });
}

void add_page(const Command& parent) {
  auto request = std::make_shared<ExportRequest>();
  const Command command = parent.command(
      "page", "The explorer as static files: the model runs in the visitor's browser");
  add_shared_options(command, *request);
  command.option("--runtime", request->runtime,
                 "The folder of ONNX Runtime Web, as scripts/fetch-npm web makes it");
  command.run([request] { run_page(*request); });
}

}  // namespace

void add_export_command(const Command& program) {
  const Command command = program.command("export", "Write a model for other programs");
  command.require_command();
  add_onnx(command);
  add_page(command);
  add_model(command);
}

}  // namespace facet
