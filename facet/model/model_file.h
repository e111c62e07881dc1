// A trained model as a file: the networks' parameters by name and the prior's mean parameters; the
// metadata has the options from which the model is rebuilt. Any safetensors reader can open it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "facet/core/safetensors.h"
#include "facet/model/vae.h"

namespace facet {

/// Adds the networks' parameters ("encoder.head.weight") and the prior ("prior.NAME.m", ".s", ".a",
/// ".b", ".c") to a file.
void store_model(const Vae& model, TensorFile& file);
/// The inverse. Throws an Error if a tensor is missing, has another shape, or is not finite.
void restore_model(Vae& model, const TensorFile& file, const std::string& object);

/// The weights may be stored as bfloat16, in half the bytes; the prior is always float64.
void write_model(const std::filesystem::path& path, const Vae& model,
                 torch::ScalarType weights = kFloat32);
std::shared_ptr<Vae> read_model(const std::filesystem::path& path);

}  // namespace facet
