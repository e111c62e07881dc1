// A run's model for other programs: what `facet export` does.
#pragma once

#include <string>
#include <vector>

namespace facet {

struct ExportRequest {
  std::string run;      ///< a run folder or a model file in one
  std::string folder;   ///< to write to
  bool force = false;   ///< also into a folder that has files
  std::string runtime;  ///< for a page: where ONNX Runtime Web is; empty: the usual places
  std::string weights = "float32";  ///< of a model: or "bf16", in half the bytes
};

struct ExportSummary {
  struct File {
    std::string name;
    size_t bytes = 0;
  };
  std::vector<File> files;
};

/// The model as ONNX files (export/onnx_model.h).
ExportSummary export_onnx(const ExportRequest& request);

/// The explorer with the model as static files (export/page_export.h).
ExportSummary export_page(const ExportRequest& request);

/// The run without its training: config, model, refiner and names. The weights of both networks are
/// rounded if they are stored as bfloat16, and the refiner then belongs to the rounded model.
ExportSummary export_model(const ExportRequest& request);

}  // namespace facet
