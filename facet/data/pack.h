// A pack: a data set in our on-disk format, a safetensors file with images U8 [N, C, H, W], labels
// I32 [N, P] (-1 where unknown) and split U8 [N] (0 train, 1 valid, 2 test). The metadata has the
// names of the properties and their values. A pack of a folder also has the names of the files and
// the user's own table, so that what a model says of an image can be written beside it. A large
// pack may be in shards: several such files that act as one (pack_shards.h).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/image.h"
#include "facet/data/image_rows.h"
#include "facet/data/image_shape.h"
#include "facet/data/split.h"
#include "facet/data/text_column.h"

namespace facet {

class AtomicFile;

struct Property {
  std::string name;
  std::vector<std::string> values;
};

/// A cache of preprocessed pixels, shared by runs in one process that only read them.
class SharedPixels {
 public:
  /// The pixels called `name`; the first call makes them with `make`. Thread-safe.
  torch::Tensor get(const std::string& name, const std::function<torch::Tensor()>& make);

 private:
  std::mutex mutex_;
  std::map<std::string, torch::Tensor> pixels_;
};

/// The user's table as it was: every column, in its order, with the cells that belong to each
/// image.
struct TableColumns {
  std::vector<std::string> names;  ///< the header
  /// cells[c][n]: the cell of image n in column c, in UTF-8, without the quotes of CSV, otherwise
  /// as given; empty for an image without a row.
  std::vector<TextColumn> cells;
  int64_t file_column = -1;  ///< the column that names the file; -1: none
  char separator = ',';      ///< between cells in the user's file: comma, semicolon or tab

  bool empty() const { return names.empty(); }
};

struct Pack {
  ImageRows images;      ///< U8 [N, C, H, W]
  torch::Tensor labels;  ///< I32 [N, P], -1 where unknown
  torch::Tensor split;   ///< U8 [N]
  std::vector<Property> properties;
  std::string origin;  ///< one line that says where it came from
  TextColumn files;    ///< N paths relative to the folder that was imported, with '/'; may be empty
  TableColumns table;  ///< of packs from a folder with a table; else empty
  /// Of how many files this one is a part; 0: it is all of the pack.
  int64_t part_of = 0;
  /// If set, image sets made from this pack share their pixels.
  std::shared_ptr<SharedPixels> shared;

  int64_t count() const { return images.count(); }
  ImageShape shape() const { return images.shape(); }
  /// Indices of the images in any of `splits`, int64, ascending; throws an Error if there are none.
  torch::Tensor indices(const std::vector<Split>& splits) const;
  /// Throws an Error that names `object` if sizes, splits or labels are inconsistent.
  void validate(const std::string& object) const;
};

/// A line that tells two data sets apart: the number and shape of the images, and a checksum of the
/// pixels and the splits.
std::string fingerprint(const Pack& pack);

/// The pack in a file, or in all files that match a name with a `*`, in the order of their names.
/// Images are mapped, not read.
Pack read_pack(const std::filesystem::path& path);
/// The same of one file, whatever its name is.
Pack read_pack_file(const std::filesystem::path& path);
void write_pack(const std::filesystem::path& path, const Pack& pack);
/// Writes a pack to `file`, which appears with commit().
void write_pack(AtomicFile& file, const Pack& pack);

/// U8 pixels [B, C, H, W] as B images.
std::vector<Image> to_images(const torch::Tensor& pixels);
/// Images of equal shape as U8 pixels [B, C, H, W].
torch::Tensor to_tensor(const std::vector<Image>& images);

}  // namespace facet
