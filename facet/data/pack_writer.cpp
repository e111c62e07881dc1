#include "facet/data/pack_writer.h"

#include <algorithm>
#include <cassert>

#include "facet/core/safetensors.h"
#include "facet/core/safetensors_header.h"
#include "facet/core/torch.h"
#include "facet/data/pack_shards.h"
#include "facet/data/pack_texts.h"
#include "facet/data/shard_names.h"

namespace facet {

namespace {

constexpr const char* kWriting = "writing a pack";

uint64_t aligned(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

const std::filesystem::path& checked(const std::filesystem::path& path) {
  require_one_name(path);
  require_writable(path, kWriting);
  return path;
}

}  // namespace

PackWriter::PackWriter(const std::filesystem::path& path) : file_(checked(path), kWriting) {}

void PackWriter::begin(const Pack& description) {
  constexpr int64_t largest = int64_t{1} << 50;  // a number as long as any that can come
  std::vector<TensorEntry> entries;
  for (const char* name :
       {"images", "split", "files", "files.ends", "table.ends", "labels", "table"})
    entries.push_back(
        {name, "U8", {largest, largest, largest, largest}, largest, Checksum().text()});
  start_ = 8 + aligned(safetensors_header(pack_metadata(description), entries).size());
}

void PackWriter::add(const Image& image) {
  if (count_ == 0) {
    shape_ = {image.channels, image.height, image.width};
    plane_ = static_cast<size_t>(image.height * image.width);
  }
  assert(image.height == shape_.height && image.width == shape_.width);
  if (image.channels > shape_.channels) become_colour();
  const Image stored = image.channels == shape_.channels ? Image{} : with_channels(image, 3);
  const std::vector<uint8_t>& values = stored.pixels.empty() ? image.pixels : stored.pixels;
  file_.write_at(position(count_), values.data(), values.size());
  checksum_.add(values.data(), values.size());
  ++count_;
}

/// From the last image to the first: each moves to where nothing is read any more.
void PackWriter::become_colour() {
  if (shape_.channels == 3) return;
  std::vector<uint8_t> planes(3 * plane_);
  for (int64_t n = count_ - 1; n >= 0; --n) {
    file_.read_at(position(n), planes.data(), plane_);
    std::copy_n(planes.begin(), plane_, planes.begin() + static_cast<long>(plane_));
    std::copy_n(planes.begin(), plane_, planes.begin() + static_cast<long>(2 * plane_));
    file_.write_at(start_ + static_cast<uint64_t>(n) * planes.size(), planes.data(), planes.size());
  }
  shape_.channels = 3;
  checksum_ = Checksum();
  for (int64_t n = 0; n < count_; ++n) {
    const std::vector<uint8_t> values = pixels(n);
    checksum_.add(values.data(), values.size());
  }
}

std::vector<uint8_t> PackWriter::pixels(int64_t image) {
  std::vector<uint8_t> values(image_size());
  file_.read_at(position(image), values.data(), values.size());
  return values;
}

void PackWriter::finish(const Pack& pack) {
  write_rest(pack);
  file_.commit();
}

void PackWriter::write_rest(const Pack& pack) {
  const auto columns = static_cast<int64_t>(pack.table.names.size());
  const torch::Tensor labels = pack.labels.contiguous(), split = pack.split.contiguous();
  auto [names, name_ends] = joined_texts({pack.files});
  auto [cells, cell_ends] = joined_texts(pack.table.cells);
  // The bytes of names are padded so that the numbers behind them start on their natural boundary.
  const uint64_t before = static_cast<uint64_t>(count_) * (image_size() + 1);
  names = torch::constant_pad_nd(
      names, {0, static_cast<int64_t>(aligned(before + names.nbytes()) - before - names.nbytes())});
  std::vector<std::pair<std::string, torch::Tensor>> tensors = {
      {"split", split}, {"files", names}, {"files.ends", name_ends}};
  if (columns > 0) tensors.emplace_back("table.ends", cell_ends);
  tensors.emplace_back("labels", labels);
  if (columns > 0) tensors.emplace_back("table", cells);

  std::vector<TensorEntry> entries = {{"images",
                                       "U8",
                                       {count_, shape_.channels, shape_.height, shape_.width},
                                       static_cast<uint64_t>(count_) * image_size(),
                                       checksum_.text()}};
  for (const auto& [name, tensor] : tensors) entries.push_back(entry_of(name, tensor));
  std::string text = safetensors_header(pack_metadata(pack), entries);
  assert(text.size() + 8 <= start_);
  text.resize(start_ - 8, ' ');
  const uint64_t header_size = text.size();
  file_.write_at(0, &header_size, sizeof header_size);
  file_.write_at(sizeof header_size, text.data(), text.size());

  uint64_t at = position(count_);
  for (const auto& [name, tensor] : tensors) {
    file_.write_at(at, tensor.data_ptr(), tensor.nbytes());
    at += tensor.nbytes();
  }
}

PackSetWriter::PackSetWriter(std::filesystem::path output, int64_t shard_size)
    : output_(std::move(output)), shard_size_(shard_size) {
  open_next();
}

void PackSetWriter::open_next() {
  const auto number = static_cast<int64_t>(writers_.size());
  // Closed, so that a pack may have more files than a process may have open.
  if (number > 0) writers_.back()->file().close();
  writers_.push_back(
      std::make_unique<PackWriter>(shard_size_ == 0 ? output_ : shard_path(output_, number)));
}

void PackSetWriter::begin(const Pack& description) {
  description_ = description;
  if (shard_size_ > 0) description_.part_of = int64_t{1} << 50;  // the number is not known yet
  writers_.back()->begin(description_);
}

void PackSetWriter::add(const Image& image) {
  if (shard_size_ > 0 && writers_.back()->count() == shard_size_) {
    open_next();
    writers_.back()->begin(description_);
  }
  if (image.channels > channels_) {
    for (const auto& writer : writers_) {
      if (writer->count() > 0) writer->become_colour();
      if (writer != writers_.back()) writer->file().close();
    }
    channels_ = image.channels;
  }
  writers_.back()->add(image.channels == channels_ ? image : with_channels(image, 3));
}

std::vector<uint8_t> PackSetWriter::pixels(int64_t image) {
  if (shard_size_ == 0) return writers_.front()->pixels(image);
  const auto& writer = writers_[static_cast<size_t>(image / shard_size_)];
  std::vector<uint8_t> values = writer->pixels(image % shard_size_);
  if (writer != writers_.back()) writer->file().close();
  return values;
}

void PackSetWriter::finish(const Pack& pack) {
  std::vector<AtomicFile*> files;
  int64_t begin = 0;
  for (const auto& writer : writers_) {
    Pack part = slice(pack, begin, writer->count());
    if (shard_size_ > 0) part.part_of = static_cast<int64_t>(writers_.size());
    writer->write_rest(part);
    writer->file().close();
    begin += writer->count();
    files.push_back(&writer->file());
  }
  commit_together(files);
  if (shard_size_ > 0) remove_shards_from(output_, static_cast<int64_t>(files.size()));
}

}  // namespace facet
