// The options of the importers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "facet/data/image_shape.h"
#include "facet/data/portrait_options.h"
#include "facet/data/split.h"

namespace facet {

/// One idx file of images for one split, [N, H, W] or [N, C, H, W], and optionally one of labels,
/// [N].
struct IdxPart {
  Split split = Split::train;
  std::filesystem::path images;
  std::filesystem::path labels;  ///< empty: no labels
};

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

struct FolderOptions {
  std::filesystem::path table;  ///< CSV of properties; empty: no labels
  TableOptions table_options;
  std::optional<ImageShape> resize;  ///< centre crop and resize; if absent, sizes must agree
  bool grey = false;                 ///< convert colour images to grey
};

}  // namespace facet
