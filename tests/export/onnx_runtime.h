// Exported files in other people's programs: onnxruntime runs them, ONNX's own checker reads them.
// Where one of these is missing, tests are skipped with a visible notice; with CI set they fail.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/export/onnx_model.h"
#include "paths.h"
#include "tests/temporary_folder.h"

namespace facet {

/// Empty where tests that need it can run; otherwise what is missing.
inline std::string missing_onnxruntime() {
  if (std::system("command -v node >/dev/null") != 0) return "node (Debian: nodejs)";
  const std::filesystem::path root = std::filesystem::path(FACET_SOURCE_FOLDER);
  if (!std::filesystem::exists(root / "build/onnxruntime-node/versions.txt"))
    return "onnxruntime (scripts/fetch-npm node)";
  return "";
}

/// A Python with ONNX's checker; the first on the path need not be Debian's. Empty: none.
inline std::string onnx_python() {
  for (const std::string python : {"python3", "/usr/bin/python3"})
    if (std::system((python + " -c 'import onnx' 2>/dev/null").c_str()) == 0) return python;
  return "";
}

inline std::string missing_onnx_checker() {
  return onnx_python().empty() ? "ONNX's checker (Debian: python3-onnx)" : "";
}

/// Skips the test if something is missing.
#define FACET_NEEDS(missing_function)                                                \
  if (const std::string missing = missing_function(); !missing.empty()) {            \
    printf("*** SKIPPED: this test of exported models needs %s\n", missing.c_str()); \
    if (std::getenv("CI") != nullptr) FAIL() << "CI is set: nothing may be skipped"; \
    GTEST_SKIP() << missing;                                                         \
  }

using TensorMap = std::map<std::string, torch::Tensor>;

inline void write_files(const std::filesystem::path& folder,
                        const std::vector<ExportedFile>& files) {
  for (const ExportedFile& file : files) write_text(folder / file.name, file.bytes, "test");
}

/// Runs exported files on inputs called "encoder/pixels"; gives outputs called "encoder/mean".
inline TensorMap run_onnx(const std::vector<ExportedFile>& files, const TensorMap& inputs) {
  const TemporaryFolder folder;
  write_files(folder.path(), files);
  write_safetensors(folder / "inputs.safetensors", {inputs, {}}, "test");
  const std::string source = FACET_SOURCE_FOLDER;
  const std::string command = "node '" + source + "/tests/export/run_onnx.mjs' '" + source +
                              "/build/onnxruntime-node' '" + folder.path().string() + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("onnxruntime has failed");
  TensorMap outputs;
  const Json shapes = Json::parse(read_text(folder / "outputs.json", "test"));
  for (const auto& [name, output] : shapes.items()) {
    const std::string bytes = read_text(folder / (name + ".bin"), "test");
    const auto type = output["type"] == "int64" ? kInt64 : kFloat32;
    const auto shape = output["shape"].get<std::vector<int64_t>>();
    outputs[name] = torch::from_blob(const_cast<char*>(bytes.data()), shape, type).clone();
  }
  return outputs;
}

}  // namespace facet
