#include "facet/data/pack_shards.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

constexpr const char* kReadingShards = "reading a pack";

std::string shape_text(const ImageShape& shape) {
  return fmt::format("images of {}x{} in {} channel{}", shape.width, shape.height, shape.channels,
                     shape.channels == 1 ? "" : "s");
}

std::string property_text(const Pack& pack, size_t p) {
  if (p >= pack.properties.size()) return fmt::format("{} properties", pack.properties.size());
  const Property& property = pack.properties[p];
  return fmt::format("property '{}' with values {}", property.name,
                     fmt::join(property.values, ", "));
}

bool equal(const Property& a, const Property& b) {
  return a.name == b.name && a.values == b.values;
}

/// Throws an Error unless two files can be parts of one pack.
void require_alike(const Pack& pack, const Pack& first, const fs::path& path,
                   const fs::path& first_path) {
  const auto fail = [&](const std::string& found, const std::string& expected) {
    Attempt{kReadingShards, path.string()}.fail(
        found, fmt::format("{}, as in '{}'", expected, first_path.filename().string()),
        "do the files belong together?");
  };
  if (pack.shape() != first.shape()) fail(shape_text(pack.shape()), shape_text(first.shape()));
  const size_t properties = std::max(pack.properties.size(), first.properties.size());
  for (size_t p = 0; p < properties; ++p)
    if (p >= pack.properties.size() || p >= first.properties.size() ||
        !equal(pack.properties[p], first.properties[p]))
      fail(property_text(pack, p), property_text(first, p));
  if (pack.files.empty() != first.files.empty())
    fail(pack.files.empty() ? "no names of files" : "names of files",
         first.files.empty() ? "none" : "some");
  if (pack.table.names != first.table.names || pack.table.file_column != first.table.file_column)
    fail(fmt::format("a table with columns '{}'", fmt::join(pack.table.names, "', '")),
         fmt::format("'{}'", fmt::join(first.table.names, "', '")));
}

/// Throws an Error if files say that there are more or fewer of them, as when the last is missing.
void check_count(const Pack& pack, size_t found, const Attempt& reading) {
  const auto expected = static_cast<size_t>(pack.part_of);
  if (expected == 0 || found == expected) return;
  reading.fail(
      fmt::format("{} file{}", found, found == 1 ? "" : "s"),
      fmt::format("{}, the number that the import wrote", expected),
      found < expected ? "was a file moved or not copied?" : "are they of more than one import?");
}

Pack joined(std::vector<Pack> packs) {
  Pack result = packs.front();
  result.part_of = 0;
  std::vector<torch::Tensor> images, labels, splits;
  std::vector<TextColumn> files;
  std::vector<std::vector<TextColumn>> cells(result.table.cells.size());
  for (const Pack& pack : packs) {
    images.push_back(pack.images.all());
    labels.push_back(pack.labels);
    splits.push_back(pack.split);
    files.push_back(pack.files);
    for (size_t c = 0; c < cells.size(); ++c) cells[c].push_back(pack.table.cells[c]);
  }
  result.images = ImageRows(std::move(images));
  result.labels = torch::cat(labels);
  result.split = torch::cat(splits);
  if (!result.files.empty()) result.files = TextColumn::joined(files);
  for (size_t c = 0; c < cells.size(); ++c) result.table.cells[c] = TextColumn::joined(cells[c]);
  return result;
}

}  // namespace

Pack read_shards(const fs::path& pattern) {
  const std::vector<fs::path> files = shard_files(pattern);
  std::vector<Pack> packs;
  for (const fs::path& file : files) {
    packs.push_back(read_pack_file(file));
    require_alike(packs.back(), packs.front(), file, files.front());
    check_count(packs.back(), files.size(), {kReadingShards, pattern.string()});
  }
  return joined(std::move(packs));
}

Pack slice(const Pack& pack, int64_t begin, int64_t count) {
  Pack result = pack;
  if (pack.images.shards() > 0)
    result.images = pack.images.select(torch::arange(begin, begin + count, kInt64));
  result.labels = pack.labels.narrow(0, begin, count);
  result.split = pack.split.narrow(0, begin, count);
  if (!pack.files.empty()) result.files = pack.files.slice(begin, count);
  for (TextColumn& cells : result.table.cells) cells = cells.slice(begin, count);
  return result;
}

bool write_shards(const fs::path& output, int64_t count, int64_t shard_size,
                  const std::function<Pack(int64_t, int64_t)>& make,
                  const std::function<bool(int64_t)>& proceed) {
  const int64_t shards = (count + shard_size - 1) / shard_size;
  std::vector<std::unique_ptr<AtomicFile>> files;
  std::vector<AtomicFile*> all;
  for (int64_t shard = 0; shard < shards; ++shard) {
    const int64_t begin = shard * shard_size, images = std::min(shard_size, count - begin);
    files.push_back(std::make_unique<AtomicFile>(shard_path(output, shard), "writing a pack"));
    all.push_back(files.back().get());
    Pack pack = make(begin, images);
    pack.part_of = shards;
    write_pack(*all.back(), pack);
    all.back()->close();
    if (!proceed(begin + images)) return false;
  }
  commit_together(all);
  remove_shards_from(output, shards);
  return true;
}

}  // namespace facet
