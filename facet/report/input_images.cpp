#include "facet/report/input_images.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/model/vae.h"
#include "facet/report/figures.h"

namespace facet {

namespace {

std::string shape_text(const ImageShape& shape) {
  return fmt::format("{}x{} {}", shape.width, shape.height, shape.channels == 1 ? "grey" : "RGB");
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

std::vector<std::string> InputImages::names(const InputRequest& request) {
  std::vector<std::string> names = request.images;
  if (!request.split.empty())
    for (const int64_t index : spread_indices(images_of(request.split).count(), request.count))
      names.push_back(fmt::format("{}:{}", request.split, index));
  if (names.empty())
    throw Error({.doing = "choosing images",
                 .found = "none",
                 .expected = "image files, SPLIT:INDEX such as test:0, or a split"});
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
  notes_.push_back(fmt::format("{}: {} made {}", name, shape_text(found), shape_text(expected)));
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

}  // namespace facet
