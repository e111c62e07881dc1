// What the importers are told.
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

/// One idx file of images [N, H, W] or [N, C, H, W] for one split, with an optional file of labels
/// [N].
struct IdxPart {
  Split split = Split::train;
  std::filesystem::path images;
  std::filesystem::path labels;  ///< empty: no labels
};

/// Which columns of a table are properties, and how images are divided.
struct TableOptions {
  /// Columns to take as properties, "name" or "name=value,value,..."; none takes every column but
  /// the key and the split. Values that are not listed are found in the table, in sorted order.
  std::vector<std::string> properties;
  /// The column that names the image's file; empty: the first column.
  std::string key_column;
  /// The column with train, valid, test or 0, 1, 2; empty: images are divided at random.
  std::string split_column;
  double valid_fraction = 0.1;  ///< of images divided at random
  double test_fraction = 0.1;   ///< of images divided at random
  uint64_t seed = 1;            ///< of the random division
};

struct FolderOptions {
  std::filesystem::path table;  ///< CSV of properties; empty: no labels
  TableOptions table_options;
  std::optional<ImageShape> resize;  ///< centre crop and resize; otherwise sizes must agree
  bool grey = false;                 ///< reduce colour to grey
};

}  // namespace facet
