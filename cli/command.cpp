#include "cli/command.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/cuda/card.h"
#include "facet/model/model_file.h"

namespace facet {

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "Where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
}

torch::Device choose_device(const std::string& device) {
  const torch::Device card(torch::kCUDA, 0);
  const bool present = torch::cuda::is_available(), usable = present && cuda::runs_kernels(card);
  if (device == "cuda" && !usable)
    throw Error({.doing = "choosing a device",
                 .object = device,
                 .found = present ? fmt::format("an older card ({})", cuda::card_name(card))
                                  : "no usable card",
                 .expected = "an NVIDIA card like H100 and H200 or later, and a LibTorch with CUDA",
                 .cause = "--device cpu works everywhere"});
  return device == "cpu" || !usable ? torch::Device(torch::kCPU) : card;
}

CLI::Option* add_repeated_option(CLI::App& command, const std::string& name,
                                 std::vector<std::string>& values, const std::string& help) {
  return command.add_option(name, values, help + "; may be repeated")->allow_extra_args(false);
}

LoadedRun load_run(const std::filesystem::path& path, torch::Device device) {
  const RunFolder folder = RunFolder::open(path);
  LoadedRun run{folder, read_config(folder.config()), read_model(folder.model())};
  run.model->move_to(device);
  run.model->eval();
  return run;
}

void require_shape(const Pack& pack, const Vae& model, const std::string& object) {
  const ImageShape found = pack.shape(), expected = model.shape();
  const auto text = [](const ImageShape& shape) {
    return fmt::format("images of {}x{} in {} channel{}", shape.height, shape.width, shape.channels,
                       shape.channels == 1 ? "" : "s");
  };
  if (found != expected)
    throw Error({.doing = "using the pack",
                 .object = object,
                 .found = text(found),
                 .expected = text(expected) + ", as the model has"});
}

}  // namespace facet
