#include "cli/command.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/model/model_file.h"

namespace facet {

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "Where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
}

CLI::Option* add_repeated_option(CLI::App& command, const std::string& name,
                                 std::vector<std::string>& values, const std::string& help) {
  return command.add_option(name, values, help + "; may be repeated")->allow_extra_args(false);
}

LoadedRun load_run(const std::filesystem::path& path, torch::Device device) {
  const RunFolder folder = RunFolder::open(path);
  LoadedRun run{folder, read_config(folder.config()), read_model(folder.model())};
  run.model->move_to(device);
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
