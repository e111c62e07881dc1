#include "facet/serve/label_book.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"

namespace facet {

namespace {

constexpr const char* kLabelling = "labelling images";

/// A cell of a CSV file.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n;\t") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char sign : text) quoted += sign == '"' ? "\"\"" : std::string(1, sign);
  return quoted + "\"";
}

}  // namespace

std::string image_file(const Pack& pack, int64_t row) {
  return pack.files.empty() ? fmt::format("{:06}.png", row)
                            : std::string(pack.files[static_cast<size_t>(row)]);
}

LabelBook::LabelBook(const RunFolder& folder) : folder_(folder) {
  if (!std::filesystem::exists(folder_.labels())) return;
  try {
    const Json json = Json::parse(read_text(folder_.labels(), kLabelling));
    for (const auto& [property, rows] : json.at("labels").items())
      for (const auto& [row, value] : rows.items())
        labels_[property][std::stoll(row)] = value.get<std::string>();
  } catch (const std::exception& error) {
    throw Error({.doing = "reading",
                 .object = folder_.labels().string(),
                 .found = fmt::format("a damaged file ({})", error.what()),
                 .expected = "labels that were given in the explorer"});
  }
}

std::map<std::string, std::string> LabelBook::of_image(int64_t row) const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> values;
  for (const auto& [property, rows] : labels_)
    if (const auto found = rows.find(row); found != rows.end()) values[property] = found->second;
  return values;
}

std::vector<int64_t> LabelBook::labelled(const std::string& property) const {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> rows;
  if (const auto found = labels_.find(property); found != labels_.end())
    for (const auto& [row, value] : found->second) rows.push_back(row);
  return rows;
}

void LabelBook::set(const std::string& property, const std::string& value,
                    const std::vector<int64_t>& rows) {
  const std::lock_guard lock(mutex_);
  auto& known = labels_[property];
  for (const int64_t row : rows) {
    if (value.empty())
      known.erase(row);
    else
      known[row] = value;
  }
  if (known.empty()) labels_.erase(property);
  save();
}

void LabelBook::save() const {
  Json labels = Json::object();
  for (const auto& [property, rows] : labels_)
    for (const auto& [row, value] : rows) labels[property][std::to_string(row)] = value;
  write_text(folder_.labels(), Json{{"labels", labels}}.dump(1) + "\n", kLabelling);
}

Json LabelBook::counts() const {
  const std::lock_guard lock(mutex_);
  Json counts = Json::object();
  for (const auto& [property, rows] : labels_) counts[property] = rows.size();
  return counts;
}

std::string LabelBook::csv(const Pack& pack) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> columns;
  for (const Property& property : pack.properties) columns.push_back(property.name);
  for (const auto& [property, rows] : labels_)
    if (std::find(columns.begin(), columns.end(), property) == columns.end())
      columns.push_back(property);
  std::string text = "file";
  for (const std::string& column : columns) text += "," + csv_cell(column);
  text += "\n";
  const auto labels = pack.labels.accessor<int32_t, 2>();
  for (int64_t row = 0; row < pack.count(); ++row) {
    std::string cells;
    bool any = false;
    for (size_t c = 0; c < columns.size(); ++c) {
      std::string value;
      if (c < pack.properties.size() && labels[row][static_cast<int64_t>(c)] >= 0)
        value =
            pack.properties[c].values[static_cast<size_t>(labels[row][static_cast<int64_t>(c)])];
      const auto given = labels_.find(columns[c]);
      if (given != labels_.end())
        if (const auto found = given->second.find(row); found != given->second.end())
          value = found->second;
      any = any || !value.empty();
      cells += "," + csv_cell(value);
    }
    if (any) text += csv_cell(image_file(pack, row)) + cells + "\n";
  }
  return text;
}

}  // namespace facet
