#include "facet/export/run_export.h"

#include <filesystem>

#include "facet/export/export_folder.h"
#include "facet/export/onnx_model.h"
#include "facet/export/page_export.h"
#include "facet/train/loaded_run.h"

namespace facet {

namespace {

ExportSummary write_all(ExportFolder& folder, const std::vector<ExportedFile>& files) {
  ExportSummary summary;
  for (const ExportedFile& file : files) {
    folder.write(file.name, file.bytes);
    summary.files.push_back({file.name, file.bytes.size()});
  }
  folder.commit();
  return summary;
}

/// The last part of a run's path, whichever way it was given.
std::string run_name(const LoadedRun& run) {
  return std::filesystem::absolute(run.folder.path / "").parent_path().filename().string();
}

}  // namespace

ExportSummary export_onnx(const ExportRequest& request) {
  const LoadedRun run = load_run(request.run, "cpu");
  ExportFolder folder(request.folder, "exporting to ONNX in", request.force);
  return write_all(folder, onnx_files(*run.model));
}

ExportSummary export_page(const ExportRequest& request) {
  const LoadedRun run = load_run(request.run, "cpu");
  const WebRuntime runtime = read_web_runtime(request.runtime, web_runtime_places());
  ExportFolder folder(request.folder, "exporting a page to", request.force);
  return write_all(folder, page_export_files(run, run_name(run), runtime));
}

}  // namespace facet
