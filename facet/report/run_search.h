// Indexes of images and what they answer: what `facet index` and `facet search` do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facet/data/image.h"
#include "facet/report/run_codes.h"
#include "facet/train/loaded_run.h"

namespace facet {

struct IndexRequest {
  std::filesystem::path run;      ///< as load_run() takes it
  std::vector<std::string> data;  ///< a pack, a folder of images, a CSV, or image files
  std::string index;              ///< the folder
  bool append = false;            ///< to an index that exists
  int64_t bytes = 16;             ///< per image, of the scan
};

struct IndexSummary {
  bool stopped = false;   ///< the index is as it was
  int64_t added = 0;      ///< images
  int64_t images = 0;     ///< of the whole index
  double scan_bytes = 0;  ///< per image
};

IndexSummary index_images(const LoadedRun& run, const IndexRequest& request,
                          const CodeEvents& events);

struct SearchRequest {
  std::string index;
  std::string like;  ///< an image file, or SPLIT:INDEX of the run's data
  bool resize = false;
  std::vector<std::string> factors;  ///< that count; empty: all
  std::vector<std::string> where;    ///< "name=value": only images with this value
  std::vector<std::string> changes;  ///< "name=value": the query with this value
  int64_t top = 20;
  int64_t shortlist = 1000;
  bool exact = false;
  bool sheet = false;  ///< draw one
};

/// Names with values, in the order of the factors.
using NamedValue = std::pair<std::string, std::string>;

struct SearchHit {
  std::string image;   ///< file name, or row of the pack
  std::string source;  ///< the pack, or the folder of the file
  int64_t row = 0;     ///< in its segment of the index
  double distance = 0;
  std::vector<NamedValue> code;    ///< component of every factor
  std::vector<NamedValue> labels;  ///< given values of named factors
};

struct SearchAnswer {
  std::vector<NamedValue> query;  ///< the code of the query, after changes
  std::vector<SearchHit> hits;
  int64_t images = 0, matching = 0;
  std::optional<Image> sheet;
  std::vector<std::string> notes;
};

/// The run whose copy an index has. Throws an Error if the folder is no index.
LoadedRun load_index_run(const std::filesystem::path& index, const std::string& device);

SearchAnswer search_images(const LoadedRun& run, const SearchRequest& request);

/// The answer as one JSON object.
std::string search_json(const SearchRequest& request, const SearchAnswer& answer);

}  // namespace facet
