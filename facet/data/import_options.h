// The options of the importers, and what they report.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facet/data/image_fit.h"
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
  int64_t valid = 0;             ///< so many of the last images are the valid split instead
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
  /// Values that differ only by case are different values.
  bool keep_case = false;
};

/// Channels of a pack: as the pictures have them (colour if one of them has colours), or one or
/// three for all.
enum class Colour { automatic, grey, rgb };

struct FolderOptions {
  std::filesystem::path table;  ///< CSV of properties; empty: no labels
  TableOptions table_options;
  /// Height and width of all images; if absent, those of the files must agree.
  std::optional<ImageShape> resize;
  Fit fit = Fit::crop;  ///< how pictures of another aspect ratio are brought to that size
  Colour colour = Colour::automatic;
  bool skip_damaged =
      false;               ///< leave out files that cannot be read; if not set, they are an Error
  int64_t shard_size = 0;  ///< images per file of the pack; 0: one file
};

/// What an import reports while it runs.
struct ImportEvents {
  std::function<void(int64_t done, int64_t files)> progress = {};
  /// Whether to stop; nothing is written then.
  std::function<bool()> stop = {};
};

/// What an import did, for a person to check.
struct ImportSummary {
  struct PropertyCounts {
    std::string name;
    std::vector<std::pair<std::string, int64_t>> values;  ///< each with its number of images
    int64_t unknown = 0;
  };

  int64_t images = 0;
  ImageShape shape;
  int64_t shards = 0;               ///< files of the pack; 0: it is one file, without a number
  std::array<int64_t, 3> splits{};  ///< images in train, valid and test
  std::vector<PropertyCounts> properties;

  int64_t files = 0;          ///< pictures in the folder
  int64_t damaged = 0;        ///< of them skipped
  std::string first_damaged;  ///< the message about the first of them
  int64_t grey_files = 0;     ///< grey pictures in a pack of colours

  bool has_table = false;
  int64_t rows = 0;                  ///< of the table
  int64_t unmatched_rows = 0;        ///< that name no picture
  std::string first_unmatched;       ///< the name in the first of them
  char separator = ',';              ///< of the table
  std::string encoding;              ///< of the table
  int64_t unlabelled = 0;            ///< images without any label
  int64_t duplicates = 0;            ///< images with the pixels of an earlier one
  int64_t divided_duplicates = 0;    ///< of them in another split than that one, as the table says
  std::vector<std::string> remarks;  ///< sentences about columns and values
};

}  // namespace facet
