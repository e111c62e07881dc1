#include "facet/export/run_export.h"

#include <filesystem>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/export/export_folder.h"
#include "facet/export/onnx_model.h"
#include "facet/export/page_export.h"
#include "facet/model/model_file.h"
#include "facet/model/refiner.h"
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

/// Weights as they will be read again.
void round_weights(const NamedTensors& parameters, torch::ScalarType type) {
  torch::NoGradGuard no_gradient;
  for (const auto& [name, parameter] : parameters) parameter.copy_(parameter.to(type));
}

/// A refiner with the same weights that belongs to another model.
Refiner refiner_of(const Vae& model, const Refiner& refiner) {
  torch::NoGradGuard no_gradient;
  Refiner copy(refiner.network(), model, Key(0), refiner.guidance());
  const NamedTensors from = refiner.parameters(), to = copy.parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i].second.copy_(from[i].second);
  return copy;
}

}  // namespace

ExportSummary export_model(const ExportRequest& request) {
  const LoadedRun run = load_run(request.run, {"cpu"});
  const torch::ScalarType weights = request.weights == "bf16" ? torch::kBFloat16 : kFloat32;
  const bool refined = std::filesystem::exists(run.folder.refiner());
  const Refinement refinement = refined ? load_refinement(run, {.refined = true}) : Refinement{};
  ExportFolder folder(request.folder, "exporting a model to", request.force);
  ExportSummary summary;
  const auto add = [&](const std::filesystem::path& source, const auto& write) {
    const std::filesystem::path place = folder.place(source.filename().string());
    write(place);
    summary.files.push_back({place.filename().string(), std::filesystem::file_size(place)});
  };
  for (const std::filesystem::path& file : {run.folder.config(), run.folder.names()})
    if (std::filesystem::exists(file))
      add(file, [&](const auto& place) {
        write_text(place, read_text(file, "exporting a model"), "exporting a model");
      });
  round_weights(run.model->parameters(), weights);
  add(run.folder.model(), [&](const auto& place) { write_model(place, *run.model, weights); });
  if (refined) {
    const Refiner refiner = refiner_of(*run.model, *refinement.refiner);
    add(run.folder.refiner(), [&](const auto& place) { write_refiner(place, refiner, weights); });
  }
  folder.commit();
  return summary;
}

ExportSummary export_onnx(const ExportRequest& request) {
  const LoadedRun run = load_run(request.run, {"cpu"});
  ExportFolder folder(request.folder, "exporting to ONNX in", request.force);
  return write_all(folder, onnx_files(*run.model));
}

ExportSummary export_page(const ExportRequest& request) {
  const LoadedRun run = load_run(request.run, {"cpu"});
  const WebRuntime runtime = read_web_runtime(request.runtime, web_runtime_places());
  ExportFolder folder(request.folder, "exporting a page to", request.force);
  return write_all(folder, page_export_files(run, run_name(run), runtime));
}

}  // namespace facet
