// `facet info RUN|PACK|MODEL`: what a file or folder of ours is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "facet/core/error.h"
#include "facet/core/safetensors.h"
#include "facet/model/model_file.h"
#include "facet/train/checkpoint.h"

namespace facet {

namespace {

void print_model(const Vae& model) {
  const ImageShape& shape = model.shape();
  fmt::print("  images {}x{} in {} channel{}, {} pixels, network '{}' with {} parameters\n",
             shape.height, shape.width, shape.channels, shape.channels == 1 ? "" : "s",
             model.options().likelihood.kind, model.options().network.preset,
             model.network_parameters());
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const FactorOptions& factor = model.prior.factors[i];
    const auto living = model.prior.held_images(i).gt(1.0).sum().item<int64_t>();
    fmt::print("  factor '{}': {} dimensions, {} components, {} living", factor.name,
               factor.dimensions, factor.components, living);
    if (factor.named())
      fmt::print(", named by '{}': {}", factor.property, fmt::join(factor.values, ", "));
    fmt::print("\n");
  }
}

void print_pack(const std::string& path) {
  const Pack pack = read_pack(path);
  const ImageShape shape = pack.shape();
  fmt::print("a pack: {} images of {}x{} in {} channel{}, from {}\n", pack.count(), shape.height,
             shape.width, shape.channels, shape.channels == 1 ? "" : "s", pack.origin);
  for (size_t s = 0; s < split_names.size(); ++s)
    fmt::print("  {} {}\n", split_names[s],
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
    fmt::print("  property '{}': {}; unknown {}\n", property.name, values,
               column.lt(0).sum().item<int64_t>());
  }
}

void print_run(const std::string& path) {
  const LoadedRun run = load_run(path, torch::kCPU);
  fmt::print("a run, seed {}, data {}\n", run.config.seed,
             run.config.data.pack.empty() ? "built-in portraits" : run.config.data.pack);
  print_model(*run.model);
  if (!std::filesystem::exists(run.folder.state())) {
    fmt::print("  a model to use: without a training state, there is nothing to resume\n");
    return;
  }
  const TensorFile state = read_safetensors(run.folder.state(), "reading a checkpoint");
  const torch::Tensor progress = state.get("progress", kInt64, {4}, run.folder.state().string());
  const auto phase = static_cast<Phase>(progress[0].item<int64_t>());
  if (phase < Phase::pretrain || phase > Phase::done)
    throw Error({.doing = "reading a checkpoint",
                 .object = run.folder.state().string(),
                 .found = fmt::format("phase {}", progress[0].item<int64_t>()),
                 .expected = "a phase from 0 to 3",
                 .cause = "is the file damaged?"});
  if (phase == Phase::done)
    fmt::print("  trained to the end\n");
  else
    fmt::print(
        "  stopped in phase {} after step {}; 'facet train --out {} --resume' continues it\n",
        phase_name(phase), progress[1].item<int64_t>(), path);
}

}  // namespace

void add_info_command(CLI::App& program) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("info", "Say what a run, a pack or a model is");
  command->add_option("path", *path, "A run folder, a pack or a model file")->required();
  command->callback([path] {
    if (std::filesystem::is_directory(*path)) return print_run(*path);
    const auto metadata = read_safetensors(*path, "opening").metadata;
    const auto format = metadata.find("format");
    if (format != metadata.end() && format->second.rfind("facet-model", 0) == 0) {
      fmt::print("a model\n");
      return print_model(*read_model(*path));
    }
    if (format != metadata.end() && format->second.rfind("facet-state", 0) == 0) {
      fmt::print("the training state of a run; 'facet info' of its folder says more\n");
      return;
    }
    print_pack(*path);
  });
}

}  // namespace facet
