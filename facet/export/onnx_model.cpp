#include "facet/export/onnx_model.h"

#include <fmt/format.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"
#include "facet/model/model_summary.h"

namespace facet {

namespace {

constexpr const char* kFormat = "facet-onnx-1";

}  // namespace

Json onnx_description(const Vae& model) {
  Json description = {{"format", kFormat},
                      {"program", fmt::format("facet {}", version())},
                      {"pixels",
                       {{"type", "float32"},
                        {"smallest", 0},
                        {"largest", 1},
                        {"layout", "batch, channels, height, width"},
                        {"channels", model.shape().channels == 1 ? "grey" : "red, green, blue"}}}};
  description.update(model_summary(model));
  return description;
}

std::vector<ExportedFile> onnx_files(const Vae& model) {
  torch::NoGradGuard no_gradient;
  const Json description = onnx_description(model);
  const OnnxMetadata metadata = {{"format", kFormat}, {"model", description.dump()}};
  return {{"encoder.onnx", encoder_onnx(model, metadata)},
          {"decoder.onnx", decoder_onnx(model, metadata)},
          {"assignments.onnx", assignments_onnx(model.prior, metadata)},
          {"sampler.onnx", sampler_onnx(model.prior, metadata)},
          {"model.json", description.dump(2) + "\n"}};
}

}  // namespace facet
