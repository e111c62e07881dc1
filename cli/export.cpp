// `facet export onnx|page RUN`: a trained model for other programs.
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/export/run_export.h"

namespace facet {

namespace {

void print_files(const std::string& folder, const ExportSummary& summary) {
  for (const ExportSummary::File& file : summary.files)
    fmt::print("  {:<24} {:>9.1f} kB\n", file.name, static_cast<double>(file.bytes) / 1000);
  fmt::print("{}: {} files\n", folder, summary.files.size());
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
  command.run([request] { print_files(request->folder, export_onnx(*request)); });
}

}  // namespace

void add_export_command(const Command& program) {
  const Command command = program.command("export", "Write a model for other programs");
  command.require_command();
  add_onnx(command);
}

}  // namespace facet
