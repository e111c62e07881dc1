#include "facet/data/pack_texts.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "facet/core/torch.h"

namespace facet {

namespace {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::pair<torch::Tensor, torch::Tensor> joined_texts(const std::vector<TextColumn>& columns) {
  int64_t total = 0;
  const int64_t count = columns.empty() ? 0 : columns.front().size();
  torch::Tensor ends = torch::empty({static_cast<int64_t>(columns.size()), count}, kInt64);
  int64_t* end = ends.data_ptr<int64_t>();
  for (const TextColumn& column : columns)
    for (int64_t n = 0; n < count; ++n) *end++ = total += static_cast<int64_t>(column[n].size());
  torch::Tensor bytes = torch::empty({total}, kUInt8);
  uint8_t* next = bytes.data_ptr<uint8_t>();
  for (const TextColumn& column : columns)
    for (int64_t n = 0; n < count; ++n) next = std::copy(column[n].begin(), column[n].end(), next);
  return {bytes, ends};
}

std::vector<TextColumn> read_texts(const TensorFile& file, const std::string& name, int64_t columns,
                                   int64_t count, const std::string& object) {
  const torch::Tensor bytes = file.get(name, kUInt8, {-1}, object);
  const torch::Tensor ends = file.get(name + ".ends", kInt64, {columns, count}, object);
  const int64_t* end = ends.data_ptr<int64_t>();
  int64_t last = 0;
  std::vector<TextColumn> texts;
  for (int64_t c = 0; c < columns; ++c) {
    texts.emplace_back(bytes, ends[c], last);
    for (int64_t n = 0; n < count; ++n, ++end) {
      if (*end < last || *end > bytes.numel())
        Attempt{"reading a pack", object}.fail(
            fmt::format("a text of '{}' that ends at byte {}", name, *end),
            fmt::format("{} to {}", last, bytes.numel()), "is the file damaged?");
      last = *end;
    }
  }
  return texts;
}

TableColumns read_table(const TensorFile& file, const std::string& text, int64_t count,
                        const std::string& object) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  TableColumns table;
  const bool known = json.is_object() && json.contains("columns") && json["columns"].is_array() &&
                     json.contains("file_column") && json["file_column"].is_number_integer() &&
                     json.contains("separator") && json["separator"].is_string() &&
                     json["separator"].get_ref<const std::string&>().size() == 1;
  if (!known || !std::all_of(json["columns"].begin(), json["columns"].end(),
                             [](const auto& name) { return name.is_string(); }))
    Attempt{"reading a pack", object}.fail("a table that cannot be read",
                                           "its columns in the metadata");
  table.names = json["columns"].get<std::vector<std::string>>();
  table.file_column = json["file_column"].get<int64_t>();
  table.separator = json["separator"].get<std::string>()[0];
  table.cells = read_texts(file, "table", static_cast<int64_t>(table.names.size()), count, object);
  return table;
}

void validate_texts(const Pack& pack, const Attempt& checking) {
  if (!pack.files.empty() && pack.files.size() != pack.count())
    checking.fail(fmt::format("{} file names", pack.files.size()),
                  fmt::format("one per image, {}", pack.count()));
  const TableColumns& table = pack.table;
  const auto columns = static_cast<int64_t>(table.names.size());
  if (table.cells.size() != table.names.size() || table.file_column < -1 ||
      table.file_column >= columns)
    checking.fail(fmt::format("a table of {} names, {} columns and file column {}", columns,
                              table.cells.size(), table.file_column),
                  "a name for each column and a file column among them");
  for (const TextColumn& column : table.cells)
    if (column.size() != pack.count())
      checking.fail(fmt::format("a table column of {} cells", column.size()),
                    fmt::format("one per image, {}", pack.count()));
}

std::map<std::string, std::string> pack_metadata(const Pack& pack) {
  nlohmann::ordered_json properties = nlohmann::ordered_json::array();
  for (const Property& property : pack.properties)
    properties.push_back({{"name", property.name}, {"values", property.values}});
  std::map<std::string, std::string> metadata = {
      {"format", kPackFormat}, {"properties", json_text(properties)}, {"origin", pack.origin}};
  if (!pack.table.empty())
    metadata["table"] = json_text({{"columns", pack.table.names},
                                   {"file_column", pack.table.file_column},
                                   {"separator", std::string(1, pack.table.separator)}});
  if (pack.part_of > 0) metadata["part_of"] = std::to_string(pack.part_of);
  return metadata;
}

}  // namespace facet
