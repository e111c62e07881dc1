#include "facet/data/pack.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <tuple>
#include <zlib.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/pack_shards.h"
#include "facet/data/pack_texts.h"

namespace facet {

namespace {

std::vector<Property> parse_properties(const std::string& text, const std::string& object) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto fail = [&] {
    Attempt{"reading a pack", object}.fail("property names that cannot be read",
                                           "a list of names with their values in the metadata");
  };
  std::vector<Property> properties;
  if (!json.is_array()) fail();
  for (const auto& entry : json) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() ||
        !entry.contains("values") || !entry["values"].is_array())
      fail();
    Property property{entry["name"].get<std::string>(), {}};
    for (const auto& value : entry["values"]) {
      if (!value.is_string()) fail();
      property.values.push_back(value.get<std::string>());
    }
    properties.push_back(std::move(property));
  }
  return properties;
}

/// The number of files of the pack, as the metadata of each of them have it.
int64_t parse_part_of(const std::string& text, const std::string& object) {
  int64_t files = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, files);
  if (!text.empty() && (error != std::errc() || after != end || files < 1))
    Attempt{"reading a pack", object}.fail(fmt::format("part of '{}' files", text),
                                           "a number of files in the metadata");
  return files;
}

/// Images whose bytes are in memory at once while a checksum is computed.
constexpr int64_t kImagesPerSum = 1000;

}  // namespace

Split parse_split(const std::string& name) {
  const auto found = std::find(split_names.begin(), split_names.end(), name);
  if (found == split_names.end())
    throw Error({.doing = "choosing a split",
                 .object = name,
                 .found = "an unknown split",
                 .expected = "train, valid or test"});
  return static_cast<Split>(found - split_names.begin());
}

std::vector<Split> parse_splits(const std::vector<std::string>& names) {
  std::vector<Split> splits;
  for (const std::string& name : names) splits.push_back(parse_split(name));
  return splits;
}

torch::Tensor SharedPixels::get(const std::string& name,
                                const std::function<torch::Tensor()>& make) {
  const std::lock_guard lock(mutex_);
  torch::Tensor& pixels = pixels_[name];
  if (!pixels.defined()) pixels = make();
  return pixels;
}

torch::Tensor Pack::indices(const std::vector<Split>& splits) const {
  torch::Tensor member = torch::zeros({count()}, torch::kBool);
  std::vector<std::string> names;
  for (const Split one : splits) {
    member |= split.eq(static_cast<int64_t>(one));
    names.push_back(split_names[static_cast<size_t>(one)]);
  }
  torch::Tensor chosen = member.nonzero().squeeze(1);
  if (chosen.size(0) == 0)
    throw Error({.doing = "choosing images of split",
                 .object = fmt::format("{}", fmt::join(names, "+")),
                 .found = fmt::format("none among {} images", count()),
                 .expected = "at least one",
                 .cause = "was the pack imported without this split?"});
  return chosen;
}

void Pack::validate(const std::string& object) const {
  const auto fail = [&](const std::string& found, const std::string& expected) {
    Attempt{"checking a pack", object}.fail(found, expected, "was it written by another program?");
  };
  const auto [channels, height, width] = shape();
  if (count() == 0) fail("no image", "at least one");
  if (channels != 1 && channels != 3) fail(fmt::format("{} channels", channels), "1 or 3");
  if (height < 1 || width < 1) fail("images without pixels", "some");
  if (labels.size(1) != static_cast<int64_t>(properties.size()))
    fail(fmt::format("{} label columns", labels.size(1)),
         fmt::format("one per property, {}", properties.size()));
  if (split.max().item<int64_t>() > 2)
    fail(fmt::format("split {}", split.max().item<int64_t>()), "0 (train), 1 (valid), 2 (test)");
  for (size_t p = 0; p < properties.size(); ++p) {
    const torch::Tensor column = labels.select(1, static_cast<int64_t>(p));
    const auto lowest = column.min().item<int64_t>(), highest = column.max().item<int64_t>();
    const auto values = static_cast<int64_t>(properties[p].values.size());
    if (lowest < -1 || highest >= values)
      fail(fmt::format("label {} of property '{}'", lowest < -1 ? lowest : highest,
                       properties[p].name),
           fmt::format("-1 (unknown) to {}, since it has {} values", values - 1, values));
  }
  validate_texts(*this, {"checking a pack", object});
}

std::string fingerprint(const Pack& pack) {
  uLong sum = crc32(0, nullptr, 0);
  const auto add = [&](const torch::Tensor& tensor) {
    const torch::Tensor bytes = tensor.contiguous();
    sum = crc32_z(sum, bytes.data_ptr<uint8_t>(), static_cast<size_t>(bytes.numel()));
  };
  pack.images.for_each_slice(kImagesPerSum, add);
  add(pack.split);
  const ImageShape shape = pack.shape();
  return fmt::format("{} images of {}x{}x{}, checksum {:08x}", pack.count(), shape.channels,
                     shape.height, shape.width, sum);
}

Pack read_pack(const std::filesystem::path& path) {
  return names_shards(path) ? read_shards(path) : read_pack_file(path);
}

Pack read_pack_file(const std::filesystem::path& path) {
  const std::string object = path.string();
  const TensorFile file = read_safetensors(path, "reading a pack", Verify::small);
  const auto metadata = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  if (metadata("format") != kPackFormat)
    throw Error({.doing = "reading a pack",
                 .object = object,
                 .found = fmt::format("format '{}'", metadata("format")),
                 .expected = fmt::format("'{}'", kPackFormat),
                 .cause = "is this a model? Make packs with 'facet import'"});
  Pack pack;
  pack.images = file.get("images", kUInt8, {-1, -1, -1, -1}, object);
  pack.labels = file.get("labels", kInt32, {pack.count(), -1}, object);
  pack.split = file.get("split", kUInt8, {pack.count()}, object);
  pack.properties = parse_properties(metadata("properties"), object);
  pack.origin = metadata("origin");
  pack.part_of = parse_part_of(metadata("part_of"), object);
  if (file.tensors.count("files") != 0)
    pack.files = read_texts(file, "files", 1, pack.count(), object).front();
  if (const std::string table = metadata("table"); !table.empty())
    pack.table = read_table(file, table, pack.count(), object);
  pack.validate(object);
  return pack;
}

void write_pack(AtomicFile& output, const Pack& pack) {
  pack.validate(output.path().string());
  TensorFile file{{{"images", pack.images.all()}, {"labels", pack.labels}, {"split", pack.split}},
                  pack_metadata(pack)};
  if (!pack.files.empty())
    std::tie(file.tensors["files"], file.tensors["files.ends"]) = joined_texts({pack.files});
  if (!pack.table.empty())
    std::tie(file.tensors["table"], file.tensors["table.ends"]) = joined_texts(pack.table.cells);
  write_safetensors(output, file, "writing a pack");
}

void write_pack(const std::filesystem::path& path, const Pack& pack) {
  AtomicFile output(path, "writing a pack");
  write_pack(output, pack);
  output.commit();
}

std::vector<Image> to_images(const torch::Tensor& pixels) {
  const torch::Tensor plain = pixels.to(torch::kCPU).contiguous();
  std::vector<Image> images;
  for (int64_t n = 0; n < plain.size(0); ++n) {
    Image image = Image::filled(plain.size(1), plain.size(2), plain.size(3));
    std::memcpy(image.pixels.data(), plain[n].data_ptr<uint8_t>(), image.pixels.size());
    images.push_back(std::move(image));
  }
  return images;
}

torch::Tensor to_tensor(const std::vector<Image>& images) {
  const Image& first = images.front();
  torch::Tensor pixels = torch::empty(
      {static_cast<int64_t>(images.size()), first.channels, first.height, first.width}, kUInt8);
  uint8_t* next = pixels.data_ptr<uint8_t>();
  for (const Image& image : images)
    next = std::copy(image.pixels.begin(), image.pixels.end(), next);
  return pixels;
}

}  // namespace facet
