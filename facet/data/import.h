// Importers: they make a pack from idx files or from a folder of images with a table of labels.
// Any label may be missing; a label that is present but invalid is an error.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "facet/data/pack.h"
#include "facet/data/portrait_options.h"

namespace facet {

/// One idx file of images for one split, [N, H, W] or [N, C, H, W], and optionally one of labels,
/// [N].
struct IdxPart {
  Split split = Split::train;
  std::filesystem::path images;
  std::filesystem::path labels;  ///< empty: no labels
};

/// Property `name` gets the values "0", "1", ... up to the largest label. A file without pixel
/// values above 1 counts as binary and is scaled to 0 and 255.
Pack import_idx(const std::vector<IdxPart>& parts, const std::string& name);

/// Which columns of a table are properties, and how images are divided into splits.
struct TableOptions {
  /// Columns to use as properties, "name" or "name=value,value,..."; empty: every column but the
  /// key and the split. "name" alone takes the values found in the table, sorted.
  std::vector<std::string> properties;
  /// The column with the name of the image file; empty: the first column.
  std::string key_column;
  /// The column with train, valid, test or 0, 1, 2; empty: images are divided at random.
  std::string split_column;
  double valid_fraction = 0.1;  ///< used if images are divided at random
  double test_fraction = 0.1;   ///< used if images are divided at random
  uint64_t seed = 1;            ///< of the random division
};

/// One idx file of images; row r of the table describes image r.
Pack import_idx_with_table(const std::filesystem::path& images, const std::filesystem::path& table,
                           const TableOptions& options);

struct FolderOptions {
  std::filesystem::path table;  ///< CSV of properties; empty: no labels
  TableOptions table_options;
  std::optional<ImageShape> resize;  ///< centre crop and resize; if absent, sizes must agree
  bool grey = false;                 ///< convert colour images to grey
};

/// Every PNG and JPEG in `folder` and its subfolders. An image without a row in the table has
/// unknown labels; a row without an image is an error. Grey and colour files can only be mixed if
/// `grey` is set.
Pack import_folder(const std::filesystem::path& folder, const FolderOptions& options);

/// The built-in portraits: 80 % train, 10 % valid, 10 % test, in this order, as portraits are
/// independent of each other.
Pack make_portraits(const PortraitSetOptions& options);

}  // namespace facet
