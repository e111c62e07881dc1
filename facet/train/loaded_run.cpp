#include "facet/train/loaded_run.h"

#include <fmt/format.h>

#include "facet/core/device.h"
#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/data/pack.h"
#include "facet/model/model_file.h"

namespace facet {

LoadedRun load_run(const std::filesystem::path& path, const std::string& device) {
  const torch::Device where = choose_device(device);
  const RunFolder folder = RunFolder::open(path);
  LoadedRun run{folder, read_saved_config(folder.config()), read_model(folder.model())};
  run.model->move_to(where);
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
                 .expected = text(expected) + ", as for the model"});
}

}  // namespace facet
