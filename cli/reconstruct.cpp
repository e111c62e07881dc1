// `facet reconstruct RUN IMAGE...`: what the model makes of images. Below each input stand the
// mean, the standard deviation and a sample of p(x|z), at the mean of q(z|x): the paper's picture
// of a pixel distribution.
#include <fmt/format.h>

#include "cli/pictures.h"
#include "facet/data/image_file.h"

namespace facet {

namespace {

struct ReconstructArguments : PictureArguments {
  InputArguments inputs;
};

/// Standard deviations of pixels in grey levels of 255, [B, C, H, W] on the CPU.
torch::Tensor deviations(Vae& model, const torch::Tensor& output) {
  const Likelihood& likelihood = model.likelihood();
  const torch::Tensor ends =
      likelihood.from_pixels(torch::tensor({0, 255}, torch::TensorOptions().dtype(torch::kUInt8)));
  const double units = (ends[1] - ends[0]).item<double>();
  return likelihood.deviation(output).to(torch::kCPU) * (255 / units);
}

Image draw_reconstructions(Vae& model, const torch::Tensor& pixels,
                           const std::vector<std::string>& names, const Key& key) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor z = encode_pixels(model, pixels).mean;
  const torch::Tensor deviation = deviations(model, model.decode(z));
  // Stretched between the extremes: deviations have a floor, and differences are what one sees.
  const auto smallest = deviation.min().item<double>(), largest = deviation.max().item<double>();
  GridOptions options;
  options.columns = pixels.size(0);
  options.scale = magnification(model.shape());
  options.row_labels = {"input", "mean",
                        fmt::format("deviation {:.0f} to {:.0f} of 255", smallest, largest),
                        "sample"};
  for (const std::string& name : names) options.column_labels.push_back(short_name(name));
  return draw_grid(
      to_images(torch::cat({pixels, decode_means(model, z), stretch(deviation, smallest, largest),
                            decode_samples(model, z, key)})),
      options);
}

void run_reconstruct(const ReconstructArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  InputImages images(run, arguments.inputs.resize);
  const std::vector<std::string> names = images.names(arguments.inputs);
  write_png(arguments.output, draw_reconstructions(*run.model, images.read(names), names,
                                                   Key(arguments.seed).fold("reconstruct")));
  fmt::print("{} reconstruction{} in {}\n", names.size(), names.size() == 1 ? "" : "s",
             arguments.output);
}

}  // namespace

void add_reconstruct_command(CLI::App& program) {
  auto arguments = std::make_shared<ReconstructArguments>();
  CLI::App* command =
      program.add_subcommand("reconstruct", "Show images as the model reconstructs them");
  add_picture_options(*command, *arguments);
  add_input_options(*command, arguments->inputs);
  command->callback([arguments] { run_reconstruct(*arguments); });
}

}  // namespace facet
