#include "facet/data/import.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/random.h"
#include "facet/core/torch.h"
#include "facet/data/csv.h"
#include "facet/data/idx.h"
#include "facet/data/image_file.h"
#include "facet/data/portraits.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

torch::Tensor read_idx_images(const fs::path& path) {
  const IdxArray array = read_idx(path);
  std::vector<int64_t> shape = array.shape;
  if (shape.size() == 3) shape.insert(shape.begin() + 1, 1);
  if (shape.size() != 4)
    throw Error({.doing = "importing idx images",
                 .object = path.string(),
                 .found = fmt::format("{} dimensions", array.shape.size()),
                 .expected = "3 [N, H, W] or 4 [N, C, H, W]",
                 .cause = "is this a file of labels?"});
  torch::Tensor images = torch::empty(shape, kUInt8);
  std::copy(array.values.begin(), array.values.end(), images.data_ptr<uint8_t>());
  if (images.max().item<int64_t>() <= 1) images *= 255;
  return images;
}

torch::Tensor read_idx_labels(const fs::path& path, int64_t count) {
  if (path.empty()) return torch::full({count}, -1, kInt32);
  const IdxArray array = read_idx(path);
  if (array.shape.size() != 1 || array.shape[0] != count)
    throw Error({.doing = "importing idx labels",
                 .object = path.string(),
                 .found = fmt::format("shape [{}]", fmt::join(array.shape, ", ")),
                 .expected = fmt::format("[{}], one label per image", count),
                 .cause = "do the two files belong together?"});
  torch::Tensor labels = torch::empty({count}, kInt32);
  std::copy(array.values.begin(), array.values.end(), labels.data_ptr<int32_t>());
  return labels;
}

size_t column_of(const Table& table, const std::string& name, const std::string& object) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found == table.columns.end())
    throw Error({.doing = "importing a table",
                 .object = object,
                 .found = fmt::format("no column '{}'", name),
                 .expected = "one of its columns",
                 .cause = suggest(name, table.columns)});
  return static_cast<size_t>(found - table.columns.begin());
}

/// A column of the table and the property that it becomes.
struct PropertyColumn {
  size_t column;
  Property property;
};

/// "name=a,b" declares the values; "name" takes those found in the table.
PropertyColumn property_column(const Table& table, const std::string& declaration,
                               const std::string& object) {
  const size_t equals = declaration.find('=');
  const std::string name = declaration.substr(0, equals);
  PropertyColumn result{column_of(table, name, object), {name, {}}};
  if (equals != std::string::npos) {
    for (size_t start = equals + 1; start <= declaration.size();) {
      const size_t comma = std::min(declaration.find(',', start), declaration.size());
      result.property.values.push_back(declaration.substr(start, comma - start));
      start = comma + 1;
    }
    return result;
  }
  std::set<std::string> values;
  for (const auto& row : table.rows)
    if (!row[result.column].empty()) values.insert(row[result.column]);
  result.property.values.assign(values.begin(), values.end());
  // Numbers come first and in numerical order (2 before 10); the rest is already sorted.
  const auto rank = [](const std::string& value) {
    const bool number =
        value.size() < 19 && value.find_first_not_of("0123456789") == std::string::npos;
    return std::pair(!number, number ? std::stoll(value) : 0);
  };
  std::stable_sort(result.property.values.begin(), result.property.values.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return result;
}

int32_t label_of(const std::string& cell, const Property& property, size_t row,
                 const std::string& object) {
  if (cell.empty()) return -1;
  const auto found = std::find(property.values.begin(), property.values.end(), cell);
  const bool not_finite = cell == "nan" || cell == "NaN" || cell == "inf" || cell == "-inf";
  if (found == property.values.end() || not_finite)
    throw Error(
        {.doing = "importing a table",
         .object = object,
         .found = fmt::format("'{}' for property '{}' in row {}", cell, property.name, row + 1),
         .expected = not_finite ? "a value, or an empty cell if it is unknown"
                                : fmt::format("one of {}", fmt::join(property.values, ", "))});
  return static_cast<int32_t>(found - property.values.begin());
}

uint8_t split_of(const std::string& cell, size_t row, const std::string& object) {
  for (size_t s = 0; s < split_names.size(); ++s)
    if (cell == split_names[s] || cell == std::to_string(s)) return static_cast<uint8_t>(s);
  throw Error({.doing = "importing a table",
               .object = object,
               .found = fmt::format("split '{}' in row {}", cell, row + 1),
               .expected = "train, valid, test or 0, 1, 2"});
}

/// Fills in labels and split: row `rows[n]` of the table describes image n; -1 means no row.
void describe_images(Pack& pack, const Table& table, const std::vector<int64_t>& rows,
                     const std::set<size_t>& key_columns, const TableOptions& options,
                     const std::string& object) {
  const auto count = static_cast<int64_t>(rows.size());
  std::optional<size_t> split_column;
  if (!options.split_column.empty()) split_column = column_of(table, options.split_column, object);
  std::vector<PropertyColumn> columns;
  if (options.properties.empty()) {
    for (size_t c = 0; c < table.columns.size(); ++c)
      if (key_columns.count(c) == 0 && split_column != c)
        columns.push_back(property_column(table, table.columns[c], object));
  } else {
    for (const std::string& declaration : options.properties)
      columns.push_back(property_column(table, declaration, object));
  }
  for (const PropertyColumn& column : columns) pack.properties.push_back(column.property);

  pack.labels = torch::full({count, static_cast<int64_t>(columns.size())}, -1, kInt32);
  auto labels = pack.labels.accessor<int32_t, 2>();
  auto split = pack.split.accessor<uint8_t, 1>();
  for (int64_t n = 0; n < count; ++n) {
    if (rows[n] < 0) continue;
    const auto row = static_cast<size_t>(rows[n]);
    const auto& cells = table.rows[row];
    for (size_t p = 0; p < columns.size(); ++p)
      labels[n][static_cast<int64_t>(p)] =
          label_of(cells[columns[p].column], columns[p].property, row, object);
    if (split_column) split[n] = split_of(cells[*split_column], row, object);
  }
}

/// A random division by the options' fractions; a split column of the table overrides it.
torch::Tensor random_split(int64_t count, const TableOptions& options) {
  torch::Tensor split = torch::zeros({count}, kUInt8);
  const torch::Tensor order = permutation(Key(options.seed).fold("split"), count);
  const auto valid = static_cast<int64_t>(options.valid_fraction * static_cast<double>(count));
  const auto test = static_cast<int64_t>(options.test_fraction * static_cast<double>(count));
  split.index_fill_(0, order.narrow(0, 0, valid), static_cast<int64_t>(Split::valid));
  split.index_fill_(0, order.narrow(0, valid, test), static_cast<int64_t>(Split::test));
  return split;
}

std::vector<fs::path> image_files(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw Error({.doing = "importing images",
                 .object = folder.string(),
                 .found = "no such folder",
                 .expected = "a folder of pictures",
                 .cause = "is the path spelled right?"});
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string ending = entry.path().extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(), ::tolower);
    const bool is_picture =
        std::find(kPictureEndings.begin(), kPictureEndings.end(), ending) != kPictureEndings.end();
    if (entry.is_regular_file() && is_picture) files.push_back(entry.path());
  }
  if (files.empty())
    throw Error(
        {.doing = "importing images",
         .object = folder.string(),
         .found = "no picture",
         .expected = fmt::format("files that end in {}", fmt::join(kPictureEndings, ", "))});
  std::sort(files.begin(), files.end());
  return files;
}

torch::Tensor read_images(const std::vector<fs::path>& files, const FolderOptions& options) {
  torch::Tensor pixels;
  ImageShape first;
  for (size_t n = 0; n < files.size(); ++n) {
    Image image = options.resize
                      ? read_image(files[n], options.resize->height, options.resize->width)
                      : read_image(files[n]);
    if (options.grey) image = with_channels(image, 1);
    const ImageShape shape{image.channels, image.height, image.width};
    if (n == 0) {
      first = shape;
      pixels = torch::empty(
          {static_cast<int64_t>(files.size()), shape.channels, shape.height, shape.width}, kUInt8);
    }
    if (shape != first)
      throw Error({.doing = "importing images",
                   .object = files[n].string(),
                   .found = fmt::format("{}x{} pixels in {} channels", shape.height, shape.width,
                                        shape.channels),
                   .expected = fmt::format("{}x{} in {}, as '{}' has", first.height, first.width,
                                           first.channels, files[0].filename().string()),
                   .cause = "--size resizes all images, --grey converts all to one channel"});
    std::copy(image.pixels.begin(), image.pixels.end(),
              pixels[static_cast<int64_t>(n)].data_ptr<uint8_t>());
  }
  return pixels;
}

/// The row of each file, or -1: a row names its file by the path in the folder, the file name, or
/// the file name without its ending.
std::vector<int64_t> rows_of_files(const Table& table, size_t key, const fs::path& folder,
                                   const std::vector<fs::path>& files, const std::string& object) {
  std::unordered_map<std::string, int64_t> row_by_name;
  for (size_t r = 0; r < table.rows.size(); ++r)
    if (!row_by_name.emplace(table.rows[r][key], static_cast<int64_t>(r)).second)
      throw Error({.doing = "importing a table",
                   .object = object,
                   .found = fmt::format("two rows for '{}'", table.rows[r][key]),
                   .expected = "one row per image"});
  std::vector<int64_t> rows;
  std::vector<bool> used(table.rows.size(), false);
  for (const fs::path& file : files) {
    int64_t row = -1;
    for (const std::string& name :
         {fs::relative(file, folder).string(), file.filename().string(), file.stem().string()})
      if (const auto found = row_by_name.find(name); row < 0 && found != row_by_name.end())
        row = found->second;
    rows.push_back(row);
    if (row < 0) continue;
    if (used[static_cast<size_t>(row)])
      throw Error({.doing = "importing a table",
                   .object = object,
                   .found = fmt::format("row {} for '{}', which matches a second file, '{}'",
                                        row + 1, table.rows[static_cast<size_t>(row)][key],
                                        fs::relative(file, folder).string()),
                   .expected = "one row per image",
                   .cause = "give the paths of files that have the same name"});
    used[static_cast<size_t>(row)] = true;
  }
  const auto orphan = std::find(used.begin(), used.end(), false);
  if (orphan != used.end())
    throw Error(
        {.doing = "importing a table",
         .object = object,
         .found = fmt::format("row {} for '{}', which matches no file", orphan - used.begin() + 1,
                              table.rows[static_cast<size_t>(orphan - used.begin())][key]),
         .expected = "rows only for images in the folder",
         .cause = "does the first column, or the key column, hold the file names?"});
  return rows;
}

}  // namespace

Pack import_idx(const std::vector<IdxPart>& parts, const std::string& name) {
  std::vector<torch::Tensor> images, labels, splits;
  for (const IdxPart& part : parts) {
    images.push_back(read_idx_images(part.images));
    const torch::Tensor& last = images.back();
    if (last.sizes().slice(1) != images.front().sizes().slice(1))
      throw Error({.doing = "importing idx images",
                   .object = part.images.string(),
                   .found = fmt::format("images of {}x{}", last.size(2), last.size(3)),
                   .expected = fmt::format("{}x{}, as in '{}'", images.front().size(2),
                                           images.front().size(3), parts.front().images.string())});
    labels.push_back(read_idx_labels(part.labels, last.size(0)));
    splits.push_back(torch::full({last.size(0)}, static_cast<int64_t>(part.split), kUInt8));
  }
  Pack pack;
  pack.images = torch::cat(images);
  pack.split = torch::cat(splits);
  pack.labels = torch::cat(labels).unsqueeze(1);
  pack.origin = "idx files";
  const auto largest = pack.labels.max().item<int64_t>();
  if (largest < 0) {
    pack.labels = torch::empty({pack.count(), 0}, kInt32);
  } else {
    Property property{name, {}};
    for (int64_t value = 0; value <= largest; ++value)
      property.values.push_back(std::to_string(value));
    pack.properties.push_back(std::move(property));
  }
  return pack;
}

Pack import_idx_with_table(const fs::path& images, const fs::path& table_path,
                           const TableOptions& options) {
  Pack pack;
  pack.images = read_idx_images(images);
  pack.origin = "an idx file with a table";
  const Table table = read_csv(table_path);
  if (static_cast<int64_t>(table.rows.size()) != pack.count())
    throw Error({.doing = "importing a table",
                 .object = table_path.string(),
                 .found = fmt::format("{} rows", table.rows.size()),
                 .expected = fmt::format("{}, one per image", pack.count())});
  std::vector<int64_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), int64_t{0});
  pack.split = random_split(pack.count(), options);
  std::set<size_t> keys;
  if (!options.key_column.empty())
    keys.insert(column_of(table, options.key_column, table_path.string()));
  describe_images(pack, table, rows, keys, options, table_path.string());
  return pack;
}

Pack import_folder(const fs::path& folder, const FolderOptions& options) {
  const std::vector<fs::path> files = image_files(folder);
  Pack pack;
  pack.origin = "a folder of pictures";
  pack.split = random_split(static_cast<int64_t>(files.size()), options.table_options);
  pack.labels = torch::empty({static_cast<int64_t>(files.size()), 0}, kInt32);
  if (!options.table.empty()) {
    const std::string object = options.table.string();
    const Table table = read_csv(options.table);
    const TableOptions& settings = options.table_options;
    const size_t key =
        settings.key_column.empty() ? 0 : column_of(table, settings.key_column, object);
    describe_images(pack, table, rows_of_files(table, key, folder, files, object), {key}, settings,
                    object);
  }
  pack.images = read_images(files, options);
  return pack;
}

void PortraitSetOptions::visit(OptionVisitor& visitor) {
  visitor.option("count", count, "Number of portraits in train, valid and test together.",
                 at_least(10));
  visitor.option("size", size, "Width and height in pixels.",
                 between(kSmallestPortrait, kLargestPortrait));
  visitor.option("seed", seed, "Seed of the data set.", at_least(0));
}

Pack make_portraits(const PortraitSetOptions& options) {
  Pack pack;
  pack.origin = fmt::format("built-in portraits, seed {}", options.seed);
  for (const PortraitProperty& property : portrait_properties())
    pack.properties.push_back({property.name, property.values});
  const auto property_count = static_cast<int64_t>(pack.properties.size());
  pack.images = torch::empty({options.count, 3, options.size, options.size}, kUInt8);
  pack.labels = torch::empty({options.count, property_count}, kInt32);
  pack.split = torch::zeros({options.count}, kUInt8);
  uint8_t* pixels = pack.images.data_ptr<uint8_t>();
  int32_t* labels = pack.labels.data_ptr<int32_t>();
  for (int64_t n = 0; n < options.count; ++n) {
    const Portrait portrait =
        draw_portrait(static_cast<uint64_t>(options.seed), static_cast<uint64_t>(n), options.size);
    pixels = std::copy(portrait.image.pixels.begin(), portrait.image.pixels.end(), pixels);
    labels = std::copy(portrait.labels.begin(), portrait.labels.end(), labels);
  }
  const int64_t tenth = options.count / 10;
  pack.split.narrow(0, options.count - 2 * tenth, tenth).fill_(static_cast<int64_t>(Split::valid));
  pack.split.narrow(0, options.count - tenth, tenth).fill_(static_cast<int64_t>(Split::test));
  return pack;
}

}  // namespace facet
