// The explorer as a folder of static files: the page of web/, the model as ONNX files, and ONNX
// Runtime Web, which computes in the visitor's browser. What a server would compute from the run
// (mean pictures of components, training curves) is written as data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "facet/export/onnx_model.h"
#include "facet/train/loaded_run.h"

namespace facet {

/// The files of ONNX Runtime Web that a page needs.
struct WebRuntime {
  std::string script;  ///< its interface
  std::string loader;  ///< loads the binary
  std::string binary;  ///< WebAssembly
  std::string licence;
};

/// ONNX Runtime Web as scripts/fetch-npm unpacks it: in `folder`, or if that is empty in
/// the first of `places` that has it. Throws an Error that says how to get it.
WebRuntime read_web_runtime(const std::filesystem::path& folder,
                            const std::vector<std::filesystem::path>& places);

/// Where this program looks for the runtime: beside an installed program, and in the build folder.
std::vector<std::filesystem::path> web_runtime_places();

/// All files of the page; `name` is the run's for the visitor.
std::vector<ExportedFile> page_export_files(const LoadedRun& run, const std::string& name,
                                            const WebRuntime& runtime);

}  // namespace facet
