#include "cli/pictures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/data/image_file.h"
#include "facet/report/font.h"

namespace facet {

namespace {

constexpr int64_t kCommonSide = 64;    // of an image in a picture
constexpr int64_t kLargestSide = 256;  // where long labels ask for more
constexpr int64_t kDecodeAtOnce = 500;

/// Decodes in slices, so that many samples of large images fit into memory.
template <typename ToPixels>
torch::Tensor decode_in_slices(Vae& model, const torch::Tensor& z, ToPixels&& to_pixels) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& slice : z.split(kDecodeAtOnce))
    parts.push_back(to_pixels(model.decode(slice), parts.size()).to(torch::kCPU));
  return torch::cat(parts);
}

std::string shape_text(const ImageShape& shape) {
  return fmt::format("{}x{} {}", shape.height, shape.width, shape.channels == 1 ? "grey" : "RGB");
}

ImageShape shape_of(const Image& image) { return {image.channels, image.height, image.width}; }

/// Splits "test:12"; false for anything that is not a split's name, a colon and a number.
bool parse_place(const std::string& name, std::string& split, int64_t& index) {
  const size_t colon = name.find(':');
  if (colon == std::string::npos) return false;
  split = name.substr(0, colon);
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + colon + 1, end, index);
  return error == std::errc() && stopped == end && index >= 0 &&
         std::find(split_names.begin(), split_names.end(), split) != split_names.end();
}

}  // namespace

void add_picture_options(CLI::App& command, PictureArguments& arguments) {
  command.add_option("run", arguments.run, "A run folder")->required();
  command.add_option("--out", arguments.output, "The PNG to write")->required();
  command.add_option("--seed", arguments.seed, "Another seed draws others")->capture_default_str();
  add_device_option(command, arguments.device);
}

torch::Tensor decode_means(Vae& model, const torch::Tensor& z) {
  const Likelihood& likelihood = model.likelihood();
  return decode_in_slices(model, z, [&](const torch::Tensor& output, size_t) {
    return likelihood.to_pixels(likelihood.mean(output));
  });
}

torch::Tensor decode_samples(Vae& model, const torch::Tensor& z, const Key& key) {
  const Likelihood& likelihood = model.likelihood();
  return decode_in_slices(model, z, [&](const torch::Tensor& output, size_t slice) {
    return likelihood.to_pixels(likelihood.sample(key.fold(slice), output));
  });
}

torch::Tensor stretch(const torch::Tensor& numbers, double darkest, double brightest) {
  const double range = std::max(brightest - darkest, 1e-12);
  return ((numbers - darkest) * (255 / range)).round().clamp(0, 255).to(torch::kUInt8);
}

int64_t magnification(const ImageShape& shape, const std::vector<std::string>& labels) {
  const int64_t side = std::max(shape.height, shape.width);
  const int64_t common = std::max<int64_t>(1, kCommonSide / side);
  int64_t widest = 0;
  for (const std::string& label : labels) widest = std::max(widest, text_width(label) + 1);
  const int64_t for_labels = (widest + shape.width - 1) / shape.width;
  return std::max(common, std::min(for_labels, kLargestSide / side));
}

std::vector<int64_t> heaviest_components(const FactorPosterior& posterior, int64_t limit) {
  const torch::Tensor counts = posterior.counts.to(torch::kCPU).contiguous();
  const double* weight = counts.data_ptr<double>();
  std::vector<int64_t> order(static_cast<size_t>(counts.size(0)));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return weight[a] > weight[b]; });
  order.resize(std::min(order.size(), static_cast<size_t>(limit)));
  return order;
}

bool is_living(const FactorialMixture& prior, size_t factor, int64_t component) {
  return prior.held_images(factor)[component].item<double>() > 1.0;
}

std::string component_label(const FactorialMixture& prior, size_t factor, int64_t component) {
  return prior.factors[factor].component_name(component) +
         (is_living(prior, factor, component) ? "" : " (dead)");
}

std::string fixed_label(const FactorialMixture& prior, const std::vector<int64_t>& fixed) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < fixed.size(); ++i)
    if (fixed[i] >= 0)
      parts.push_back(prior.factors[i].name + "=" + prior.factors[i].component_name(fixed[i]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_input_options(CLI::App& command, InputArguments& arguments) {
  CLI::Option* images = command.add_option(
      "images", arguments.images, "PNG or JPEG files, or SPLIT:INDEX for images of the run's data");
  CLI::Option* split =
      command.add_option("--split", arguments.split, "Images spread over this split, instead")
          ->excludes(images);
  command.add_option("--count", arguments.count, "So many of --split")
      ->check(CLI::Range(1, 1000))
      ->needs(split)
      ->capture_default_str();
  command.add_flag("--resize", arguments.resize,
                   "Crop, resize and convert images of another shape to the model's");
}

std::vector<std::string> InputImages::names(const InputArguments& arguments) {
  std::vector<std::string> names = arguments.images;
  if (!arguments.split.empty()) {
    // Spread over the split: data sets come sorted by class often enough.
    const int64_t available = images_of(arguments.split).count();
    const int64_t count = std::min(arguments.count, available);
    for (int64_t n = 0; n < count; ++n)
      names.push_back(fmt::format("{}:{}", arguments.split, n * available / count));
  }
  if (names.empty())
    throw Error({.doing = "choosing images",
                 .found = "none",
                 .expected = "PNG or JPEG files, SPLIT:INDEX such as test:0, or --split"});
  return names;
}

torch::Tensor InputImages::read(const std::vector<std::string>& names) {
  std::vector<torch::Tensor> images;
  for (const std::string& name : names) images.push_back(read_one(name));
  return torch::stack(images);
}

torch::Tensor InputImages::read_one(const std::string& name) {
  std::string split;
  int64_t index = 0;
  if (std::filesystem::exists(name) || !parse_place(name, split, index)) return read_file(name);
  const ImageSet& images = images_of(split);
  if (index >= images.count())
    throw Error({.doing = "choosing an image",
                 .object = name,
                 .found = fmt::format("{} images in the split", images.count()),
                 .expected = "an index below that, from 0"});
  return images.pixels[index];
}

torch::Tensor InputImages::read_file(const std::string& name) {
  const Image image = read_image(name);
  const ImageShape found = shape_of(image), expected = run_.model->shape();
  if (found == expected) return to_tensor({image})[0];
  if (!resize_)
    throw Error({.doing = "using an image",
                 .object = name,
                 .found = shape_text(found),
                 .expected = shape_text(expected) + ", as the model has",
                 .cause = "--resize crops, resizes and converts it"});
  fmt::print("{}: {} made {}\n", name, shape_text(found), shape_text(expected));
  return to_tensor(
      {resize(with_channels(image, expected.channels), expected.height, expected.width)})[0];
}

const ImageSet& InputImages::images_of(const std::string& split) {
  if (const auto known = splits_.find(split); known != splits_.end()) return known->second;
  const Split which = parse_split(split);  // before the data, which may take a while
  const Pack pack = load_data(run_.config.data);
  require_shape(pack, *run_.model, run_.config.data.pack);
  return splits_[split] = select_images(pack, {which}, run_.config.data, false, torch::kCPU);
}

std::string short_name(const std::string& name) {
  return std::filesystem::path(name).stem().string();
}

Encoding encode_pixels(Vae& model, const torch::Tensor& pixels) {
  torch::NoGradGuard no_gradient;
  return model.encode(model.likelihood().from_pixels(pixels.to(model.device())));
}

void write_samples(Vae& model, const SampleOptions& options, const std::filesystem::path& path) {
  const Key key = Key(options.seed).fold("samples");
  const torch::Tensor z = sample_latents(key, model.prior, options.count, options.fixed).z;
  GridOptions grid;
  grid.columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(options.count))));
  grid.scale = magnification(model.shape());
  grid.title = fixed_label(model.prior, options.fixed);
  write_png(path,
            draw_grid(to_images(options.draw_pixels ? decode_samples(model, z, key.fold("pixels"))
                                                    : decode_means(model, z)),
                      grid));
}

}  // namespace facet
