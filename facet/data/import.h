// Importers: from the forms in which people have images to a pack. Labels may be missing anywhere;
// a label that is there but cannot be right is an error, never a guess.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/data/pack.h"

namespace facet {

/// One idx file of images [N, H, W] or [N, C, H, W] for one split, with an optional file of labels
/// [N].
struct IdxPart {
  Split split = Split::train;
  std::filesystem::path images;
  std::filesystem::path labels;  ///< empty: no labels
};

/// Property `name` gets the values "0", "1", ... up to the largest label. Images with no value
/// above 1 are taken as binary and stretched to 0 and 255.
Pack import_idx(const std::vector<IdxPart>& parts, const std::string& name);

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

/// One idx file of images whose row r is described by row r of a table.
Pack import_idx_with_table(const std::filesystem::path& images, const std::filesystem::path& table,
                           const TableOptions& options);

struct FolderOptions {
  std::filesystem::path table;  ///< CSV of properties; empty: no labels
  TableOptions table_options;
  std::optional<ImageShape> resize;  ///< centre crop and resize; otherwise sizes must agree
  bool grey = false;                 ///< reduce colour to grey
};

/// Every picture below `folder`, by the endings of names (image_file.h). An image without a row in
/// the table has unknown labels; a row without an image is an error. Grey and coloured files must
/// not be mixed unless `grey` is set.
Pack import_folder(const std::filesystem::path& folder, const FolderOptions& options);

struct PortraitSetOptions {
  int64_t count = 12000;
  int64_t size = 32;
  int64_t seed = 1;

  void visit(OptionVisitor& visitor);
};

/// Built-in portraits: 80 % train, 10 % valid, 10 % test, in this order (draws are independent).
Pack make_portraits(const PortraitSetOptions& options);

}  // namespace facet
