// Writes a pack image by image, so that an import needs no memory for pixels. The header of a
// safetensors file comes first and names sizes that are known last: room is kept for it, and spaces
// fill what it does not need. PackSetWriter does the same for a pack in shards.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "facet/core/checksum.h"
#include "facet/core/file.h"
#include "facet/data/image.h"
#include "facet/data/pack.h"

namespace facet {

class PackWriter {
 public:
  /// Makes the folders above `path` and opens a temporary file there, or throws an Error.
  explicit PackWriter(const std::filesystem::path& path);

  /// What of a pack is known before its images: properties, origin, the names of the table's
  /// columns.
  void begin(const Pack& description);

  /// All images have the size of the first one, which the caller sees to. A grey pack becomes one
  /// of colours with the first image that has them; grey images in it are grey in three channels.
  void add(const Image& image);

  int64_t count() const { return count_; }
  ImageShape shape() const { return shape_; }
  /// The pixels of an image that was added.
  std::vector<uint8_t> pixels(int64_t image);

  /// Grey images become grey in three channels, and so will those that follow.
  void become_colour();

  /// Writes the rest, `pack` without images, and moves the file into place.
  void finish(const Pack& pack);
  /// finish() without the last step, which is left to commit() of the file.
  void write_rest(const Pack& pack);
  AtomicFile& file() { return file_; }

 private:
  size_t image_size() const { return static_cast<size_t>(shape_.channels) * plane_; }
  uint64_t position(int64_t image) const {
    return start_ + static_cast<uint64_t>(image) * image_size();
  }

  AtomicFile file_;
  ImageShape shape_;
  size_t plane_ = 0;    ///< pixels per channel
  uint64_t start_ = 0;  ///< where the tensors begin
  int64_t count_ = 0;
  Checksum checksum_;  ///< of the images
};

class PackSetWriter {
 public:
  /// `shard_size` images per file, named by shard_path(); 0: all in one, at `output`. Throws an
  /// Error if nothing can be written there.
  PackSetWriter(std::filesystem::path output, int64_t shard_size);

  /// These are those of PackWriter. Files of a set appear together.
  void begin(const Pack& description);
  void add(const Image& image);
  std::vector<uint8_t> pixels(int64_t image);
  void finish(const Pack& pack);

 private:
  void open_next();

  std::filesystem::path output_;
  int64_t shard_size_;
  Pack description_;
  int64_t channels_ = 1;
  std::vector<std::unique_ptr<PackWriter>> writers_;
};

}  // namespace facet
