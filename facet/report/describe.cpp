#include "facet/report/describe.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/pack_shards.h"
#include "facet/model/model_file.h"
#include "facet/model/refiner.h"
#include "facet/report/run_fitting.h"
#include "facet/train/loaded_run.h"
#include "facet/train/phase.h"

namespace facet {

namespace {

std::string model_text(const Vae& model) {
  std::string text;
  const ImageShape& shape = model.shape();
  text += fmt::format(
      "  images {}x{} in {} channel{}, {} pixels, network '{}' with {} parameters\n", shape.width,
      shape.height, shape.channels, shape.channels == 1 ? "" : "s", model.options().likelihood.kind,
      model.options().network.preset, model.network_parameters());
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const FactorOptions& factor = model.prior.factors[i];
    const auto living = model.prior.held_images(i).gt(1.0).sum().item<int64_t>();
    text += fmt::format("  factor '{}': {} dimensions, {} components, {} living", factor.name,
                        factor.dimensions, factor.components, living);
    if (factor.named())
      text += fmt::format(", named by '{}': {}", factor.property, fmt::join(factor.values, ", "));
    text += fmt::format("\n");
  }
  return text;
}

std::string pack_text(const std::string& path) {
  std::string text;
  const Pack pack = read_pack(path);
  const ImageShape shape = pack.shape();
  const std::string files =
      pack.images.shards() == 1 ? "" : fmt::format(" in {} files", pack.images.shards());
  text += fmt::format("a pack{}: {} images of {}x{} in {} channel{}, from {}\n", files,
                      pack.count(), shape.width, shape.height, shape.channels,
                      shape.channels == 1 ? "" : "s", pack.origin);
  for (size_t s = 0; s < split_names.size(); ++s)
    text += fmt::format("  {} {}\n", split_names[s],
                        pack.split.eq(static_cast<int64_t>(s)).sum().item<int64_t>());
  for (size_t p = 0; p < pack.properties.size(); ++p) {
    const Property& property = pack.properties[p];
    const torch::Tensor column = pack.labels.select(1, static_cast<int64_t>(p));
    std::string values;
    for (size_t v = 0; v < property.values.size() && v < 12; ++v)
      values += fmt::format("{}{} {}", v == 0 ? "" : ", ", property.values[v],
                            column.eq(static_cast<int64_t>(v)).sum().item<int64_t>());
    if (property.values.size() > 12)
      values += fmt::format(", ... ({} values)", property.values.size());
    text += fmt::format("  property '{}': {}; unknown {}\n", property.name, values,
                        column.lt(0).sum().item<int64_t>());
  }
  return text;
}

/// What `facet refine` has added to a run; empty where it has not.
std::string refiner_text(const LoadedRun& run) {
  if (!std::filesystem::exists(run.folder.refiner())) return "";
  try {
    const auto refiner = read_refiner(run.folder.refiner(), *run.model);
    return fmt::format("  a refiner with {} parameters: --refined makes pictures sharp\n",
                       refiner->parameter_count());
  } catch (const Error& error) {  // the run itself can be used all the same
    return fmt::format("  a refiner that cannot be used: {}\n", error.what());
  }
}

std::string run_text(const std::string& path) {
  std::string text;
  const LoadedRun run = load_run(path, {"cpu"});
  text += fmt::format("a run, seed {}, data {}\n", run.config.seed,
                      run.config.data.pack.empty() ? "built-in portraits" : run.config.data.pack);
  text += model_text(*run.model);
  text += refiner_text(run);
  if (!std::filesystem::exists(run.folder.newest_state())) {
    text += fmt::format("  a model to use: without a training state, there is nothing to resume\n");
    return text;
  }
  const TensorFile state = read_safetensors(run.folder.newest_state(), "reading a checkpoint");
  const torch::Tensor progress =
      state.get("progress", kInt64, {4}, run.folder.newest_state().string());
  const auto phase = static_cast<Phase>(progress[0].item<int64_t>());
  if (phase < Phase::pretrain || phase > Phase::done)
    throw Error({.doing = "reading a checkpoint",
                 .object = run.folder.newest_state().string(),
                 .found = fmt::format("phase {}", progress[0].item<int64_t>()),
                 .expected = "a phase from 0 to 3",
                 .cause = "is the file damaged?"});
  if (phase == Phase::done)
    text += fmt::format("  trained to the end\n");
  else
    text += fmt::format(
        "  stopped in phase {} after step {}; 'facet train --out {} --resume' continues it\n",
        phase_name(phase), progress[1].item<int64_t>(), path);
  return text;
}

}  // namespace

std::string describe(const std::string& path) {
  if (std::filesystem::is_directory(path))
    return is_fit_run(path) ? describe_fit_run(path) : run_text(path);
  if (names_shards(path)) return pack_text(path);
  const auto metadata = read_safetensors(path, "opening").metadata;
  const auto format = metadata.find("format");
  const auto is = [&](const char* kind) {
    return format != metadata.end() && format->second.rfind(kind, 0) == 0;
  };
  if (is("facet-model")) return "a model\n" + model_text(*read_model(path));
  if (is("facet-mixture")) return describe_fit_run(path);
  if (is("facet-refiner")) return "the refiner of a run; 'facet info' of its folder says more\n";
  if (is("facet-state"))
    return "the training state of a run; 'facet info' of its folder says more\n";
  return pack_text(path);
}

}  // namespace facet
