#include "facet/export/page_export.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/gzip.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/export/page_files.h"
#include "facet/model/atlas.h"
#include "facet/model/generate.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

constexpr const char* kScript = "dist/ort.wasm.min.mjs";
constexpr const char* kLoader = "dist/ort-wasm-simd-threaded.mjs";
constexpr const char* kBinary = "dist/ort-wasm-simd-threaded.wasm";

/// Large files are fetched from the start, and not only when the modules that ask for them have
/// arrived.
constexpr const char* kPreload =
    R"(  <link rel="modulepreload" href="local.js">
  <link rel="preload" href="ort.bin" as="fetch" crossorigin="anonymous">
  <link rel="preload" href="model/sampler.onnx" as="fetch" crossorigin="anonymous">
  <link rel="preload" href="model/decoder.onnx" as="fetch" crossorigin="anonymous">
</head>)";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// A file of web/ as it is in the exported folder. Modules end in .js there: many file hosts do not
/// know .mjs, and browsers refuse modules of an unknown type.
ExportedFile exported_page_file(const PageFile& file) {
  std::string name(file.path == "/" ? "index.html" : file.path.substr(1)), text(file.bytes);
  const bool module = fs::path(name).extension() == ".mjs";
  if (module) name = fs::path(name).replace_extension(".js").string();
  if (module || name == "index.html") replace_all(text, ".mjs\"", ".js\"");
  if (name == "index.html") {
    replace_all(text, "data-backend=\"server\"", "data-backend=\"local\"");
    replace_all(text, "</head>", kPreload);
  }
  return {name, text};
}

/// Without the last line, which names a file for debuggers that is not there.
std::string without_source_map(const std::string& script) {
  return script.substr(0, script.rfind("//# sourceMappingURL"));
}

/// Pixels U8 [B, C, H, W] as one PNG, kAtlasColumns side by side.
std::string sprite_png(const torch::Tensor& pixels) {
  const int64_t count = pixels.size(0), channels = pixels.size(1);
  const int64_t height = pixels.size(2), width = pixels.size(3);
  const int64_t columns = std::min(count, kAtlasColumns), rows = (count + columns - 1) / columns;
  const torch::Tensor cells = torch::zeros({rows * columns, channels, height, width}, kUInt8);
  cells.narrow(0, 0, count).copy_(pixels);
  const torch::Tensor sheet = cells.view({rows, columns, channels, height, width})
                                  .permute({2, 0, 3, 1, 4})
                                  .reshape({channels, rows * height, columns * width});
  Image image = Image::filled(channels, rows * height, columns * width);
  std::copy_n(sheet.data_ptr<uint8_t>(), sheet.numel(), image.pixels.begin());
  return encode_png(image);
}

/// The lines of metrics.jsonl, and how far training came.
struct TrainingRecord {
  std::string lines;
  Json state;
};

TrainingRecord read_training(const LoadedRun& run) {
  TrainingRecord record;
  const TrainOptions& train = run.config.train;
  Json last = Json::object();
  int64_t count = 0;
  if (fs::exists(run.folder.metrics())) {
    record.lines = read_text(run.folder.metrics(), "reading metrics");
    std::istringstream lines(record.lines);
    for (std::string line; std::getline(lines, line); ++count) {
      const Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (parsed.is_object() && parsed.contains("phase")) last = parsed;
    }
  }
  record.state = {{"state", fs::exists(run.folder.evaluation()) ? "finished" : "stopped"},
                  {"phase", last.value("phase", Json())},
                  {"step", last.value("step", Json(0))},
                  {"lines", count},
                  {"phase_steps",
                   {{"pretrain", train.pretrain.steps},
                    {"initialise", train.initialise.steps},
                    {"joint", train.joint.steps}}}};
  return record;
}

}  // namespace

WebRuntime read_web_runtime(const fs::path& folder, const std::vector<fs::path>& places) {
  const auto complete = [](const fs::path& place) {
    const auto names = {kScript, kLoader, kBinary, "LICENSE"};
    return std::all_of(names.begin(), names.end(),
                       [&](const char* name) { return fs::exists(place / name); });
  };
  const std::vector<fs::path> candidates = folder.empty() ? places : std::vector{folder};
  const auto found = std::find_if(candidates.begin(), candidates.end(), complete);
  if (found == candidates.end())
    throw Error({.doing = "exporting a page",
                 .object = folder.empty() ? "" : folder.string(),
                 .found = "no ONNX Runtime Web",
                 .expected = fmt::format("a folder with {} in it", kBinary),
                 .cause = "'scripts/fetch-npm web' fetches it, --runtime names its folder"});
  const auto read = [&](const char* name) {
    return read_text(*found / name, "reading ONNX Runtime Web");
  };
  return {read(kScript), read(kLoader), read(kBinary), read("LICENSE")};
}

std::vector<fs::path> web_runtime_places() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return {};
  return {program.parent_path() / "share/facet/onnxruntime-web",     // installed: PREFIX/bin/facet
          program.parent_path().parent_path() / "onnxruntime-web"};  // build/PRESET/cli/facet
}

std::vector<ExportedFile> page_export_files(const LoadedRun& run, const std::string& name,
                                            const WebRuntime& runtime) {
  torch::NoGradGuard no_gradient;
  const Vae& model = *run.model;
  std::vector<ExportedFile> files;
  for (const PageFile& file : page_files())
    if (!file.path.starts_with("/api/") && !file.path.starts_with("/survey/") &&
        !file.path.starts_with("/runs/") && !file.path.starts_with("/report/"))
      files.push_back(exported_page_file(file));
  files.push_back({"ort.js", without_source_map(runtime.script)});
  files.push_back({"ort-wasm.js", without_source_map(runtime.loader)});
  // A quarter of its size. Its name says nothing of gzip: some hosts would tell browsers to undo
  // it.
  files.push_back({"ort.bin", gzip_compressed(runtime.binary)});
  files.push_back({"ort-LICENSE.txt", runtime.licence});
  for (ExportedFile& file : onnx_files(model))
    files.push_back({"model/" + file.name, std::move(file.bytes)});
  Json atlases = Json::array();
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const torch::Tensor z = atlas_latents(model.prior, i);
    files.push_back({fmt::format("model/atlas-{}.png", i), sprite_png(decode_means(model, z))});
    atlases.push_back({{"file", files.back().name},
                       {"columns", std::min(z.size(0), kAtlasColumns)},
                       {"count", z.size(0)}});
  }
  const TrainingRecord training = read_training(run);
  if (!training.lines.empty()) files.push_back({"model/metrics.jsonl", training.lines});
  const Json page = {{"run", name}, {"training", training.state}, {"atlases", atlases}};
  files.push_back({"model/page.json", page.dump(2) + "\n"});
  return files;
}

}  // namespace facet
