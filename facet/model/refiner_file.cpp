// A refiner as a file: the network's parameters by name; the metadata has the network's options,
// the shape of the images and the fingerprint of the model.
#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/model/fingerprint.h"
#include "facet/model/refiner.h"
#include "facet/model/shape_options.h"

namespace facet {

namespace {

constexpr const char* refiner_format = "facet-refiner-2";

/// A file that says of itself that it has a larger network than it has: it must not be allocated.
/// Counted is the second convolution of every block on the way down, of which all others are small
/// multiples.
void require_unet_in(const TensorFile& file, const UnetOptions& network, const Attempt& reading) {
  double stored = 0, needed = 0;
  for (const auto& [name, tensor] : file.tensors) stored += static_cast<double>(tensor.numel());
  for (const int64_t multiplier : network.multipliers) {
    const auto channels = static_cast<double>(network.width * multiplier);
    needed += 9 * static_cast<double>(network.blocks) * channels * channels;
  }
  if (needed > stored)
    reading.fail(
        fmt::format("{:.0f} numbers", stored),
        fmt::format("at least the {:.3g} of the blocks that its metadata describe", needed),
        "is the file damaged?");
}

/// Refiners of earlier versions have none.
double read_guidance(const std::string& text, const Attempt& reading) {
  if (text.empty()) return 0;
  const Json number = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const double guidance = number.is_number() ? number.get<double>() : -1;
  if (guidance != 0 && !(guidance >= 1 && guidance <= kMostGuidance))
    reading.fail(fmt::format("guidance '{}'", text), fmt::format("0, or 1 to {}", kMostGuidance),
                 "is the file damaged?");
  return guidance;
}

}  // namespace

void write_refiner(const std::filesystem::path& path, const Refiner& refiner,
                   torch::ScalarType weights) {
  TensorFile file;
  for (const auto& [name, tensor] : refiner.parameters())
    file.tensors[name] = tensor.detach().to(weights);
  file.metadata = {{"format", refiner_format},
                   {"model", refiner.model()},
                   {"shape", write_options(ShapeOptions(refiner.shape())).dump()},
                   {"network", write_options(refiner.network()).dump()},
                   {"guidance", fmt::format("{}", refiner.guidance())}};
  write_safetensors(path, file, "saving the refiner");
}

std::shared_ptr<Refiner> read_refiner(const std::filesystem::path& path, const Vae& model) {
  torch::NoGradGuard no_gradient;
  const std::string object = path.string();
  const Attempt reading{"reading a refiner", object};
  const TensorFile file = read_safetensors(path, "reading a refiner");
  const auto metadata = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  if (metadata("format") != refiner_format)
    reading.fail(fmt::format("format '{}'", metadata("format")),
                 fmt::format("'{}'", refiner_format),
                 metadata("format") == "facet-refiner-1"
                     ? "it is of an earlier version: 'facet refine RUN --overwrite' makes a new one"
                     : "is this a model?");
  if (const std::string own = fingerprint(model); metadata("model") != own)
    reading.fail(fmt::format("the refiner of another model, {}", metadata("model")),
                 fmt::format("that of this one, {}", own),
                 "was the run trained further? 'facet refine RUN --overwrite' makes a new one");
  const double guidance = read_guidance(metadata("guidance"), reading);
  UnetOptions network;
  ShapeOptions shape;
  read_options(network, parse_config(metadata("network"), object), object);
  read_options(shape, parse_config(metadata("shape"), object), object);
  if (shape.shape() != model.shape())
    reading.fail("a refiner of images of another size", "that of the model's", "is it damaged?");
  // Checked before anything of this size is allocated.
  const int64_t inputs = 2 * shape.channels * network.patch * network.patch;
  file.get_weight("input.weight", {network.width, inputs, 3, 3}, object);
  require_unet_in(file, network, reading);
  auto refiner = std::make_shared<Refiner>(network, model, Key(0), guidance);
  for (const auto& [name, parameter] : refiner->parameters()) {
    const torch::Tensor& stored = file.get_weight(name, parameter.sizes(), object);
    if (!torch::isfinite(stored).all().item<bool>())
      reading.fail(fmt::format("NaN or infinity in '{}'", name), "finite numbers");
    parameter.copy_(stored);
  }
  refiner->move_to(model.device());
  return refiner;
}

}  // namespace facet
