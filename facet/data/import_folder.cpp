// The import of a folder: names and table first, since mistakes in them show at once; then the
// pixels, file by file; then what is known only at the end: duplicates, splits, counts.
#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/data/division.h"
#include "facet/data/duplicates.h"
#include "facet/data/image_file.h"
#include "facet/data/import.h"
#include "facet/data/pack_shards.h"
#include "facet/data/pack_writer.h"
#include "facet/data/read_ahead.h"
#include "facet/data/table_labels.h"
#include "facet/data/text_encoding.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

constexpr const char* kImportingImages = "importing images";

/// Files beginning with a dot are not pictures, whatever their ending: "._x.png" is what macOS
/// writes beside "x.png" on foreign disks.
bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

bool has_picture_ending(const fs::path& path) {
  const std::string ending = lower_case(path.extension().string());
  return std::find(kPictureEndings.begin(), kPictureEndings.end(), ending) != kPictureEndings.end();
}

std::vector<fs::path> picture_files(const fs::path& folder) {
  const Attempt importing{kImportingImages, folder.string()};
  if (!fs::is_directory(folder))
    importing.fail("no such folder", "a folder of pictures", "is the path spelled right?");
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error), end;
  while (!error && entry != end) {
    if (is_hidden(entry->path())) {
      if (entry->is_directory()) entry.disable_recursion_pending();
    } else if (has_picture_ending(entry->path()) && entry->is_regular_file()) {
      files.push_back(entry->path());
    }
    entry.increment(error);
  }
  if (error) importing.fail(fmt::format("a folder that cannot be read: {}", error.message()));
  if (files.empty())
    importing.fail("no picture",
                   fmt::format("files that end in {}", fmt::join(kPictureEndings, ", ")));
  std::sort(files.begin(), files.end());
  return files;
}

/// Everything that is known about the files before they are read.
struct Description {
  std::vector<fs::path> files;
  std::vector<std::string> names;  ///< relative to the folder
  Table table;                     ///< empty without one
  size_t key = 0;
  RowsOfFiles match;
  TableLabels labels;
};

Description describe(const fs::path& folder, const FolderOptions& options) {
  Description result;
  result.files = picture_files(folder);
  for (const fs::path& file : result.files)
    result.names.push_back(file.lexically_relative(folder).generic_string());
  result.match.rows.assign(result.files.size(), -1);
  if (!options.table.empty()) {
    const std::string object = options.table.string();
    const std::string& key = options.table_options.key_column;
    result.table = read_csv(options.table);
    result.key = key.empty() ? 0 : column_of(result.table, key, object);
    result.match = match_rows(result.table, result.key, result.names,
                              fs::canonical(folder).filename().string(), object);
  }
  result.labels = labels_of(result.table, result.match.rows, {result.key}, options.table_options,
                            options.table.string());
  return result;
}

Pack header_of(const Description& description) {
  Pack pack;
  pack.origin = "a folder of pictures";
  pack.properties = description.labels.properties;
  pack.table.names = description.table.columns;
  pack.table.separator = description.table.separator;
  pack.table.file_column = pack.table.empty() ? -1 : static_cast<int64_t>(description.key);
  return pack;
}

/// What came of the files.
struct ReadFiles {
  std::vector<int64_t> read;     ///< the files that are images of the pack
  std::vector<uint64_t> hashes;  ///< of their pixels
  int64_t damaged = 0;
  std::string first_damaged;  ///< the message about it
  int64_t grey = 0;
  bool stopped = false;
};

struct Stopped {};

class FolderReader {
 public:
  FolderReader(const std::vector<fs::path>& files, const FolderOptions& options,
               const ImportEvents& events, PackSetWriter& writer)
      : files_(files), options_(options), events_(events), writer_(writer) {}

  ReadFiles read_all() {
    try {
      read_ahead(
          files_, std::max(1U, std::thread::hardware_concurrency()),
          [this](const fs::path& file) { return read(file); },
          [this](size_t file, ReadPicture&& picture) { take(file, std::move(picture)); });
    } catch (const Stopped&) {
      result_.stopped = true;
      return std::move(result_);
    }
    check_damaged();
    return std::move(result_);
  }

 private:
  Image read(const fs::path& file) const {
    const auto& size = options_.resize;
    const Image image =
        size ? read_image(file, size->height, size->width, options_.fit) : read_image(file);
    if (options_.colour == Colour::automatic) return image;
    return with_channels(image, options_.colour == Colour::grey ? 1 : 3);
  }

  void take(size_t file, ReadPicture&& picture) {
    if (events_.stop && events_.stop()) throw Stopped{};
    if (!picture.error.empty()) {
      if (result_.damaged++ == 0) result_.first_damaged = picture.error;
    } else {
      check_size(file, picture.image);
      // Once it is known that the import will fail, the rest is only counted.
      if (result_.damaged == 0 || options_.skip_damaged) add(file, picture.image);
    }
    if (events_.progress)
      events_.progress(static_cast<int64_t>(file) + 1, static_cast<int64_t>(files_.size()));
  }

  void add(size_t file, const Image& image) {
    writer_.add(image);
    result_.read.push_back(static_cast<int64_t>(file));
    result_.hashes.push_back(pixel_hash(image));
    result_.grey += image.channels == 1;
  }

  void check_size(size_t file, const Image& image) {
    if (first_.channels == 0) {
      first_ = {image.channels, image.height, image.width};
      first_file_ = file;
    }
    if (image.height == first_.height && image.width == first_.width) return;
    Attempt{kImportingImages, files_[file].string()}.fail(
        fmt::format("{}x{} pixels", image.width, image.height),
        fmt::format("{}x{}, as '{}' has", first_.width, first_.height,
                    files_[first_file_].filename().string()),
        "--size brings all images to one size");
  }

  void check_damaged() const {
    if (result_.damaged == 0) return;
    const bool nothing_left = result_.damaged == static_cast<int64_t>(files_.size());
    if (options_.skip_damaged && !nothing_left) return;
    Attempt{kImportingImages}.fail(
        fmt::format("{} of {} files that cannot be read", result_.damaged, files_.size()),
        "pictures",
        fmt::format("first: {}{}", result_.first_damaged,
                    nothing_left ? "" : "; --skip-damaged leaves them out"));
  }

  const std::vector<fs::path>& files_;
  const FolderOptions& options_;
  const ImportEvents& events_;
  PackSetWriter& writer_;
  ImageShape first_{0, 0, 0};
  size_t first_file_ = 0;
  ReadFiles result_;
};

/// The table's cells for the images that were read.
std::vector<TextColumn> cells_of(const Description& description, const std::vector<int64_t>& read) {
  std::vector<TextColumn> columns;
  for (size_t c = 0; c < description.table.columns.size(); ++c) {
    std::vector<std::string> cells;
    for (const int64_t file : read) {
      const int64_t row = description.match.rows[static_cast<size_t>(file)];
      cells.push_back(row < 0 ? "" : description.table.rows[static_cast<size_t>(row)][c]);
    }
    columns.emplace_back(cells);
  }
  return columns;
}

TextColumn names_of(const Description& description, const std::vector<int64_t>& read) {
  std::vector<std::string> names;
  for (const int64_t file : read) names.push_back(description.names[static_cast<size_t>(file)]);
  return TextColumn(names);
}

void count_duplicates(const std::vector<int64_t>& first, const Pack& pack, ImportSummary& summary) {
  const auto split = pack.split.accessor<uint8_t, 1>();
  for (size_t n = 0; n < first.size(); ++n) {
    if (first[n] == static_cast<int64_t>(n)) continue;
    ++summary.duplicates;
    summary.divided_duplicates += split[static_cast<int64_t>(n)] != split[first[n]];
  }
}

}  // namespace

ImportSummary summary_of(const Pack& pack) {
  ImportSummary summary;
  summary.images = pack.count();
  summary.shape = pack.shape();
  for (size_t s = 0; s < summary.splits.size(); ++s)
    summary.splits[s] = pack.split.eq(static_cast<int64_t>(s)).sum().item<int64_t>();
  for (size_t p = 0; p < pack.properties.size(); ++p) {
    const Property& property = pack.properties[p];
    const torch::Tensor column = pack.labels.select(1, static_cast<int64_t>(p)).to(kInt64) + 1;
    const torch::Tensor counts =
        column.bincount({}, static_cast<int64_t>(property.values.size()) + 1);
    ImportSummary::PropertyCounts& result = summary.properties.emplace_back();
    result.name = property.name;
    result.unknown = counts[0].item<int64_t>();
    for (size_t v = 0; v < property.values.size(); ++v)
      result.values.emplace_back(property.values[v],
                                 counts[static_cast<int64_t>(v) + 1].item<int64_t>());
  }
  if (!pack.properties.empty()) summary.unlabelled = pack.labels.lt(0).all(1).sum().item<int64_t>();
  return summary;
}

ImportSummary summary_of_written(const fs::path& output, int64_t shard_size) {
  const Pack pack = read_pack(shard_size == 0 ? output : shard_pattern(output));
  ImportSummary summary = summary_of(pack);
  if (shard_size > 0) summary.shards = static_cast<int64_t>(pack.images.shards());
  return summary;
}

std::optional<ImportSummary> import_folder(const fs::path& folder, const FolderOptions& options,
                                           const fs::path& output, const ImportEvents& events) {
  require_image_reader();
  PackSetWriter writer(output, options.shard_size);
  const Description description = describe(folder, options);
  Pack pack = header_of(description);
  writer.begin(pack);
  const ReadFiles files = FolderReader(description.files, options, events, writer).read_all();
  if (files.stopped) return std::nullopt;

  const std::vector<int64_t> first =
      first_copies(files.hashes, [&](int64_t n) { return writer.pixels(n); });
  const torch::Tensor read = torch::tensor(files.read, kInt64);
  pack.labels = description.labels.labels.index_select(0, read);
  pack.split = description.labels.split.index_select(0, read);
  pack.split =
      torch::where(pack.split.eq(kNoSplit), random_split(first, options.table_options), pack.split);
  pack.files = names_of(description, files.read);
  pack.table.cells = cells_of(description, files.read);
  writer.finish(pack);

  ImportSummary summary = summary_of_written(output, options.shard_size);
  count_duplicates(first, pack, summary);
  summary.files = static_cast<int64_t>(description.files.size());
  summary.damaged = files.damaged;
  summary.first_damaged = files.first_damaged;
  summary.grey_files = summary.shape.channels == 3 ? files.grey : 0;
  summary.has_table = !options.table.empty();
  summary.rows = static_cast<int64_t>(description.table.rows.size());
  summary.unmatched_rows = description.match.unmatched;
  summary.first_unmatched = description.match.first_unmatched;
  summary.separator = description.table.separator;
  summary.encoding = description.table.encoding;
  summary.remarks = description.labels.remarks;
  return summary;
}

}  // namespace facet
