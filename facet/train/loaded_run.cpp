#include "facet/train/loaded_run.h"

#include <fmt/format.h>

#include "facet/core/device.h"
#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/data/pack.h"
#include "facet/model/model_file.h"
#include "facet/model/refiner.h"
#include "facet/train/run_names.h"

namespace facet {

void use_kernels(Vae& model, const std::string& precision) {
  if (precision != "tf32" && precision != "bf16" && precision != "fp32")
    Attempt{"choosing what networks multiply", "precision"}.fail(fmt::format("'{}'", precision),
                                                                 "tf32, bf16 or fp32");
  if (precision == "fp32" || !cuda::kernels_available(model.device())) return;
  // They read the weights of convolutions channels-last.
  for (const NamedTensors& network : {model.encoder().parameters(), model.decoder().parameters()})
    for (const auto& [name, parameter] : network)
      if (parameter.dim() == 4)
        parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  model.accelerate(
      precision == "bf16"
          ? [](const torch::Tensor& weight) { return weight.detach().to(torch::kBFloat16); }
          : Bf16Copies());
}

LoadedRun load_run(const std::filesystem::path& path, const ComputePlace& place) {
  const torch::Device where = choose_device(place.device, place.local_rank);
  const bool file = path.extension() == ".safetensors" && !std::filesystem::is_directory(path);
  const RunFolder folder = RunFolder::open(file ? path.parent_path() : path);
  LoadedRun run{folder, read_saved_config(folder.config()),
                read_model(file ? path : folder.model())};
  apply_names(run.model->prior, read_names(folder));
  run.model->move_to(where);
  use_kernels(*run.model, place.precision);
  return run;
}

Refinement load_refinement(const LoadedRun& run, const RefineChoice& choice,
                           std::shared_ptr<const Refiner> refiner) {
  if (!choice.refined) return {};
  if (!refiner && !std::filesystem::exists(run.folder.refiner()))
    throw Error({.doing = "refining pictures of",
                 .object = run.folder.path.string(),
                 .found = "no refiner in the run",
                 .expected = "refiner.safetensors",
                 .cause = fmt::format("run `facet refine {}` first", run.folder.path.string())});
  if (!refiner) refiner = read_refiner(run.folder.refiner(), *run.model);
  if (choice.guidance > 0 && choice.guidance != 1 && refiner->guidance() == 0)
    throw Error({.doing = "refining pictures of",
                 .object = run.folder.path.string(),
                 .found = fmt::format("a guidance of {}", choice.guidance),
                 .expected = "1",
                 .cause = "its refiner was never trained without means (mean_dropout)"});
  return {std::move(refiner), choice.steps, choice.guidance};
}

void require_shape(const Pack& pack, const Vae& model, const std::string& object) {
  const ImageShape found = pack.shape(), expected = model.shape();
  const auto text = [](const ImageShape& shape) {
    return fmt::format("images of {}x{} in {} channel{}", shape.width, shape.height, shape.channels,
                       shape.channels == 1 ? "" : "s");
  };
  if (found != expected)
    throw Error({.doing = "using the pack",
                 .object = object,
                 .found = text(found),
                 .expected = text(expected) + ", as for the model"});
}

}  // namespace facet
