// A model as ONNX files: encoder, decoder, the prior's assignments and its sampler. Pixels are in
// [0, 1] in all files, whatever the likelihood's own units are. docs/export.md describes their
// inputs and outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/model/vae.h"

namespace facet {

struct ExportedFile {
  std::string name;
  std::string bytes;
};

/// Metadata of an ONNX file, by key.
using OnnxMetadata = std::map<std::string, std::string>;

/// pixels [B, C, H, W] to mean and log_variance [B, Z].
std::string encoder_onnx(const Vae& model, const OnnxMetadata& metadata);

/// z [B, Z] to pixels and stddev [B, C, H, W].
std::string decoder_onnx(const Vae& model, const OnnxMetadata& metadata);

/// mean and log_variance [B, Z] to the assignment probabilities of every factor [B, K], the code
/// [B, I], and the offsets [B, Z] from the means of the code's components, in units of their
/// predictive scales.
std::string assignments_onnx(const FactorialMixture& prior, const OnnxMetadata& metadata);

/// Components [B, I] (-1: drawn), uniform noise, temperatures and offsets to z [B, Z], from the
/// Student-t predictives (eq:z-t-dist).
std::string sampler_onnx(const FactorialMixture& prior, const OnnxMetadata& metadata);

/// What the model is, for programs that use the files: model_summary and the units of pixels.
Json onnx_description(const Vae& model);

/// All four files, and model.json with their description, for runtimes that do not show metadata.
std::vector<ExportedFile> onnx_files(const Vae& model);

}  // namespace facet
