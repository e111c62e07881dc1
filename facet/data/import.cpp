#include "facet/data/import.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/memory.h"
#include "facet/core/parallel.h"
#include "facet/core/torch.h"
#include "facet/data/csv.h"
#include "facet/data/division.h"
#include "facet/data/idx.h"
#include "facet/data/portraits.h"
#include "facet/data/table_labels.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

torch::Tensor read_idx_images(const fs::path& path) {
  const IdxArray array = read_idx(path);
  std::vector<int64_t> shape = array.shape;
  if (shape.size() == 3) shape.insert(shape.begin() + 1, 1);
  if (shape.size() != 4)
    throw Error({.doing = "importing idx images",
                 .object = path.string(),
                 .found = fmt::format("{} dimensions", array.shape.size()),
                 .expected = "3 [N, H, W] or 4 [N, C, H, W]",
                 .cause = "is this a file of labels?"});
  torch::Tensor images = torch::empty(shape, kUInt8);
  std::copy(array.values.begin(), array.values.end(), images.data_ptr<uint8_t>());
  if (images.max().item<int64_t>() <= 1) images *= 255;
  return images;
}

torch::Tensor read_idx_labels(const fs::path& path, int64_t count) {
  if (path.empty()) return torch::full({count}, -1, kInt32);
  const IdxArray array = read_idx(path);
  if (array.shape.size() != 1 || array.shape[0] != count)
    throw Error({.doing = "importing idx labels",
                 .object = path.string(),
                 .found = fmt::format("shape [{}]", fmt::join(array.shape, ", ")),
                 .expected = fmt::format("[{}], one label per image", count),
                 .cause = "do the two files belong together?"});
  torch::Tensor labels = torch::empty({count}, kInt32);
  std::copy(array.values.begin(), array.values.end(), labels.data_ptr<int32_t>());
  return labels;
}

}  // namespace

Pack import_idx(const std::vector<IdxPart>& parts, const std::string& name) {
  std::vector<torch::Tensor> images, labels, splits;
  for (const IdxPart& part : parts) {
    images.push_back(read_idx_images(part.images));
    const torch::Tensor& last = images.back();
    if (last.sizes().slice(1) != images.front().sizes().slice(1))
      throw Error({.doing = "importing idx images",
                   .object = part.images.string(),
                   .found = fmt::format("images of {}x{}", last.size(3), last.size(2)),
                   .expected = fmt::format("{}x{}, as in '{}'", images.front().size(3),
                                           images.front().size(2), parts.front().images.string())});
    labels.push_back(read_idx_labels(part.labels, last.size(0)));
    if (part.valid >= last.size(0))
      throw Error({.doing = "importing idx images",
                   .object = part.images.string(),
                   .found = fmt::format("{} images", last.size(0)),
                   .expected = fmt::format("more than the {} for the valid split", part.valid)});
    splits.push_back(torch::full({last.size(0)}, static_cast<int64_t>(part.split), kUInt8));
    splits.back()
        .narrow(0, last.size(0) - part.valid, part.valid)
        .fill_(static_cast<int64_t>(Split::valid));
  }
  Pack pack;
  pack.images = torch::cat(images);
  pack.split = torch::cat(splits);
  pack.labels = torch::cat(labels).unsqueeze(1);
  pack.origin = "idx files";
  const auto largest = pack.labels.max().item<int64_t>();
  if (largest < 0) {
    pack.labels = torch::empty({pack.count(), 0}, kInt32);
  } else {
    Property property{name, {}};
    for (int64_t value = 0; value <= largest; ++value)
      property.values.push_back(std::to_string(value));
    pack.properties.push_back(std::move(property));
  }
  return pack;
}

Pack import_idx_with_table(const fs::path& images, const fs::path& table_path,
                           const TableOptions& options, std::vector<std::string>& remarks) {
  Pack pack;
  pack.images = read_idx_images(images);
  pack.origin = "an idx file with a table";
  const Table table = read_csv(table_path);
  if (static_cast<int64_t>(table.rows.size()) != pack.count())
    throw Error({.doing = "importing a table",
                 .object = table_path.string(),
                 .found = fmt::format("{} rows", table.rows.size()),
                 .expected = fmt::format("{}, one per image", pack.count())});
  std::vector<int64_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), int64_t{0});
  std::set<size_t> keys;
  if (!options.key_column.empty())
    keys.insert(column_of(table, options.key_column, table_path.string()));
  TableLabels found = labels_of(table, rows, keys, options, table_path.string());
  pack.properties = std::move(found.properties);
  pack.labels = found.labels;
  remarks.insert(remarks.end(), found.remarks.begin(), found.remarks.end());
  pack.split = options.split_column.empty() ? random_split(rows, options) : found.split;
  return pack;
}

void PortraitSetOptions::visit(OptionVisitor& visitor) {
  visitor.option("count", count, "Number of portraits in train, valid and test together.",
                 between(10, 10000000));
  visitor.option("size", size, "Width and height in pixels.",
                 between(kSmallestPortrait, kLargestPortrait));
  visitor.option("seed", seed, "Seed of the data set.", at_least(0));
}

Pack make_portraits(const PortraitSetOptions& options) {
  return make_some_portraits(options, 0, options.count);
}

Pack make_some_portraits(const PortraitSetOptions& options, int64_t begin, int64_t count) {
  const double needed = 3.0 * static_cast<double>(count) * static_cast<double>(options.size) *
                        static_cast<double>(options.size);
  if (needed > memory_limit())
    Attempt{"drawing portraits"}.fail(
        fmt::format("{:.1f} GB of pixels", 1e-9 * needed),
        fmt::format("at most the {:.1f} GB of memory that there are", 1e-9 * memory_limit()),
        "'facet import portraits --shard-size' writes them in parts");
  Pack pack;
  pack.origin = fmt::format("built-in portraits, seed {}", options.seed);
  for (const PortraitProperty& property : portrait_properties())
    pack.properties.push_back({property.name, property.values});
  const auto property_count = static_cast<int64_t>(pack.properties.size());
  torch::Tensor images = torch::empty({count, 3, options.size, options.size}, kUInt8);
  pack.images = images;
  pack.labels = torch::empty({count, property_count}, kInt32);
  pack.split = torch::empty({count}, kUInt8);
  uint8_t *const pixels = images.data_ptr<uint8_t>(), *const split = pack.split.data_ptr<uint8_t>();
  int32_t* const labels = pack.labels.data_ptr<int32_t>();
  const int64_t tenth = options.count / 10, bytes = pack.images.image_bytes();
  parallel_for(count, [&](int64_t from, int64_t to) {
    for (int64_t n = from; n < to; ++n) {
      const int64_t number = begin + n, left = options.count - number;
      const Portrait portrait = draw_portrait(static_cast<uint64_t>(options.seed),
                                              static_cast<uint64_t>(number), options.size);
      std::copy(portrait.image.pixels.begin(), portrait.image.pixels.end(), pixels + n * bytes);
      std::copy(portrait.labels.begin(), portrait.labels.end(), labels + n * property_count);
      split[n] = static_cast<uint8_t>(left <= tenth       ? Split::test
                                      : left <= 2 * tenth ? Split::valid
                                                          : Split::train);
    }
  });
  return pack;
}

}  // namespace facet
