#include "cli/command.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/model/model_file.h"

namespace facet {

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "Where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
}

torch::Device choose_device(const std::string& device) {
  const bool available = torch::cuda::is_available();
  if (device == "cuda" && !available)
    throw Error({.doing = "choosing a device",
                 .object = device,
                 .found = "no usable card",
                 .expected = "an NVIDIA card and a LibTorch with CUDA",
                 .cause = "--device cpu works everywhere"});
  return device == "cpu" || !available ? torch::Device(torch::kCPU)
                                       : torch::Device(torch::kCUDA, 0);
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

void print_evaluation(const Evaluation& evaluation) {
  fmt::print("{} split, {} images, {} sample{} of z an image\n", evaluation.split, evaluation.count,
             evaluation.samples, evaluation.samples == 1 ? "" : "s");
  fmt::print("  bound (ELBO) {:10.3f} nats (standard error {:.3f})\n", evaluation.elbo,
             evaluation.standard_error);
  fmt::print("    = reconstruction {:.3f} - KL[z] {:.3f} - KL[r] {:.3f}\n",
             evaluation.reconstruction, evaluation.kl_z, evaluation.kl_r);
  if (evaluation.importance_bound)
    fmt::print("  importance-weighted bound {:.3f} nats (standard error {:.3f}, {} samples)\n",
               *evaluation.importance_bound, *evaluation.importance_standard_error,
               evaluation.importance_samples);
  size_t width = 6;
  for (const FactorEvaluation& factor : evaluation.factors)
    width = std::max(width, factor.name.size());
  fmt::print("  {:<{}}  components used  perplexity   KL[z]   KL[r]  property\n", "factor", width);
  for (const FactorEvaluation& factor : evaluation.factors) {
    fmt::print("  {:<{}}  {:>8} of {:<4} {:>10.1f} {:>8.2f} {:>7.2f}", factor.name, width,
               factor.used, factor.components, factor.perplexity, factor.kl_z, factor.kl_r);
    const PropertyAgreement* best = factor.best();
    if (best != nullptr && !factor.property.empty())
      fmt::print("  named {}: accuracy {:.1f} %", best->property, 100 * best->accuracy);
    else if (best != nullptr)
      fmt::print("  found {} (NMI {:.2f}, purity {:.1f} %)", best->property, best->nmi,
                 100 * best->purity);
    fmt::print("\n");
  }
}

}  // namespace facet
