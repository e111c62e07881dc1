#include "facet/data/table_labels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/data/text_encoding.h"

namespace facet {

namespace {

constexpr const char* kImportingTable = "importing a table";

/// What a column says, by spelling.
struct Spelling {
  int64_t cells = 0;
  int64_t first_row = 0;
};
using Spellings = std::map<std::string, Spelling>;

Spellings spellings_of(const Table& table, size_t column, const std::vector<int64_t>& rows) {
  Spellings spellings;
  for (const int64_t row : rows) {
    if (row < 0) continue;
    const std::string_view cell = trimmed(table.rows[static_cast<size_t>(row)][column]);
    if (cell.empty()) continue;
    const auto [entry, is_new] = spellings.try_emplace(std::string(cell), Spelling{0, row});
    ++entry->second.cells;
    entry->second.first_row = std::min(entry->second.first_row, row);
  }
  return spellings;
}

/// A column of the table, the property that it becomes, and the value of every spelling.
struct PropertyColumn {
  size_t column = 0;
  Property property;
  std::unordered_map<std::string, int32_t> value_of = {};
};

/// Numbers come first and in numerical order (2 before 10), then the rest by bytes.
void sort_values(std::vector<std::string>& values) {
  const auto rank = [](const std::string& value) {
    const bool number =
        value.size() < 19 && value.find_first_not_of("0123456789") == std::string::npos;
    return std::pair(!number, number ? std::stoll(value) : 0);
  };
  std::sort(values.begin(), values.end());
  std::stable_sort(values.begin(), values.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

/// For every spelling the one that stands for its value: among those that differ only by case the
/// most frequent one, of several such the one that came first.
std::map<std::string, std::string> representatives(const Spellings& spellings, bool keep_case) {
  std::map<std::string, std::string> best, result;
  for (const auto& [text, spelling] : spellings) {
    std::string& chosen = best[keep_case ? text : lower_case(text)];
    const auto rank = [](const Spelling& one) { return std::pair(-one.cells, one.first_row); };
    if (chosen.empty() || rank(spelling) < rank(spellings.at(chosen))) chosen = text;
  }
  for (const auto& [text, spelling] : spellings)
    result[text] = best[keep_case ? text : lower_case(text)];
  return result;
}

void remark_merged(const std::string& name, const Spellings& spellings,
                   const std::map<std::string, std::string>& merged,
                   std::vector<std::string>& remarks) {
  for (const auto& [text, value] : merged)
    if (text != value)
      remarks.push_back(fmt::format("'{}' is taken for '{}' in column '{}' ({} cell{})", text,
                                    value, name, spellings.at(text).cells,
                                    spellings.at(text).cells == 1 ? "" : "s"));
}

/// The values of "name=a,b": other spellings of one of them count as it.
void declare_values(PropertyColumn& column, const std::string& declared, const Spellings& spellings,
                    bool keep_case, std::vector<std::string>& remarks) {
  for (size_t start = 0; start <= declared.size();) {
    const size_t comma = std::min(declared.find(',', start), declared.size());
    const std::string value(trimmed(std::string_view(declared).substr(start, comma - start)));
    if (column.value_of.count(value) == 0) {
      column.value_of.emplace(value, static_cast<int32_t>(column.property.values.size()));
      column.property.values.push_back(value);
    }
    start = comma + 1;
  }
  if (keep_case) return;
  std::map<std::string, std::string> merged;
  for (const auto& [text, spelling] : spellings) {
    if (column.value_of.count(text) != 0) continue;
    std::vector<std::string> meant;
    for (const std::string& value : column.property.values)
      if (lower_case(value) == lower_case(text)) meant.push_back(value);
    if (meant.size() == 1) merged[text] = meant.front();
  }
  for (const auto& [text, value] : merged) column.value_of[text] = column.value_of.at(value);
  remark_merged(column.property.name, spellings, merged, remarks);
}

/// The values that the column has.
void find_values(PropertyColumn& column, const Spellings& spellings, bool keep_case,
                 std::vector<std::string>& remarks) {
  const auto merged = representatives(spellings, keep_case);
  std::set<std::string> values;
  for (const auto& [text, value] : merged) values.insert(value);
  column.property.values.assign(values.begin(), values.end());
  sort_values(column.property.values);
  std::unordered_map<std::string, int32_t> index;
  for (const std::string& value : column.property.values)
    index.emplace(value, static_cast<int32_t>(index.size()));
  for (const auto& [text, value] : merged) column.value_of[text] = index.at(value);
  remark_merged(column.property.name, spellings, merged, remarks);
}

/// "no value" or "only the value 'yes'"; empty where there are more.
std::string too_few(const Property& property) {
  if (property.values.empty()) return "no value";
  if (property.values.size() == 1)
    return fmt::format("only the value '{}'", property.values.front());
  return "";
}

/// What --property declares: "name=a,b" with its values; "name" takes those found in the table.
PropertyColumn declared_column(const Table& table, const std::vector<int64_t>& rows,
                               const std::string& declaration, const TableOptions& options,
                               const std::string& object, std::vector<std::string>& remarks) {
  const size_t equals = declaration.find('=');
  const std::string name = declaration.substr(0, equals);
  PropertyColumn column{column_of(table, name, object), {name, {}}};
  const Spellings spellings = spellings_of(table, column.column, rows);
  if (equals != std::string::npos) {
    declare_values(column, declaration.substr(equals + 1), spellings, options.keep_case, remarks);
    return column;
  }
  find_values(column, spellings, options.keep_case, remarks);
  if (const std::string found = too_few(column.property); !found.empty())
    Attempt{kImportingTable, object}.fail(
        fmt::format("{} in column '{}'", found, name), "at least two",
        fmt::format("--property {}=VALUE,VALUE declares values that no row has", name));
  return column;
}

/// Every column that looks like a property.
std::vector<PropertyColumn> found_columns(const Table& table, const std::vector<int64_t>& rows,
                                          const std::set<size_t>& others,
                                          const TableOptions& options,
                                          std::vector<std::string>& remarks) {
  std::vector<PropertyColumn> columns;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (others.count(c) != 0) continue;
    PropertyColumn column{c, {table.columns[c], {}}};
    std::vector<std::string> about_values;
    find_values(column, spellings_of(table, c, rows), options.keep_case, about_values);
    std::string found = too_few(column.property);
    const size_t values = column.property.values.size();
    if (values > kMostValues) found = fmt::format("{} values", values);
    if (!found.empty()) {
      remarks.push_back(fmt::format(
          "column '{}' has {} and is no property; --property {} takes it", table.columns[c], found,
          values > kMostValues ? table.columns[c] : table.columns[c] + "=VALUE,VALUE"));
      continue;
    }
    remarks.insert(remarks.end(), about_values.begin(), about_values.end());
    columns.push_back(std::move(column));
  }
  return columns;
}

int32_t label_of(std::string_view cell, const PropertyColumn& column, size_t row,
                 const std::string& object) {
  if (cell.empty()) return -1;
  const auto found = column.value_of.find(std::string(cell));
  const bool not_finite = cell == "nan" || cell == "NaN" || cell == "inf" || cell == "-inf";
  if (found == column.value_of.end() || not_finite)
    Attempt{kImportingTable, object}.fail(
        fmt::format("'{}' for property '{}' in row {}", cell, column.property.name, row + 1),
        not_finite ? "a value, or an empty cell if it is unknown"
                   : fmt::format("one of {}", fmt::join(column.property.values, ", ")));
  return found->second;
}

uint8_t split_of(std::string_view cell, size_t row, const std::string& object) {
  const std::string name = lower_case(cell);
  for (size_t s = 0; s < split_names.size(); ++s)
    if (name == split_names[s] || name == std::to_string(s)) return static_cast<uint8_t>(s);
  Attempt{kImportingTable, object}.fail(fmt::format("split '{}' in row {}", cell, row + 1),
                                        "train, valid, test or 0, 1, 2");
}

}  // namespace

size_t column_of(const Table& table, const std::string& name, const std::string& object) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), trimmed(name));
  if (found == table.columns.end())
    Attempt{kImportingTable, object}.fail(fmt::format("no column '{}'", name), "one of its columns",
                                          suggest(name, table.columns));
  return static_cast<size_t>(found - table.columns.begin());
}

TableLabels labels_of(const Table& table, const std::vector<int64_t>& rows,
                      const std::set<size_t>& key_columns, const TableOptions& options,
                      const std::string& object) {
  TableLabels result;
  std::set<size_t> others = key_columns;
  std::optional<size_t> split_column;
  if (!options.split_column.empty()) {
    split_column = column_of(table, options.split_column, object);
    others.insert(*split_column);
  }
  std::vector<PropertyColumn> columns;
  for (const std::string& declaration : options.properties)
    columns.push_back(declared_column(table, rows, declaration, options, object, result.remarks));
  if (options.properties.empty())
    columns = found_columns(table, rows, others, options, result.remarks);
  for (const PropertyColumn& column : columns) result.properties.push_back(column.property);

  const auto count = static_cast<int64_t>(rows.size());
  result.labels = torch::full({count, static_cast<int64_t>(columns.size())}, -1, kInt32);
  result.split = torch::full({count}, kNoSplit, kUInt8);
  auto labels = result.labels.accessor<int32_t, 2>();
  auto split = result.split.accessor<uint8_t, 1>();
  for (int64_t n = 0; n < count; ++n) {
    if (rows[static_cast<size_t>(n)] < 0) continue;
    const auto row = static_cast<size_t>(rows[static_cast<size_t>(n)]);
    const auto& cells = table.rows[row];
    for (size_t p = 0; p < columns.size(); ++p)
      labels[n][static_cast<int64_t>(p)] =
          label_of(trimmed(cells[columns[p].column]), columns[p], row, object);
    if (split_column) split[n] = split_of(trimmed(cells[*split_column]), row, object);
  }
  return result;
}

}  // namespace facet
