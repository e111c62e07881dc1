#include "facet/export/run_export.h"

#include "facet/export/export_folder.h"
#include "facet/export/onnx_model.h"
#include "facet/train/loaded_run.h"

namespace facet {

ExportSummary export_onnx(const ExportRequest& request) {
  const LoadedRun run = load_run(request.run, "cpu");
  ExportFolder folder(request.folder, "exporting to ONNX in", request.force);
  ExportSummary summary;
  for (const auto& [name, bytes] : onnx_files(*run.model)) {
    folder.write(name, bytes);
    summary.files.push_back({name, bytes.size()});
  }
  folder.commit();
  return summary;
}

}  // namespace facet
