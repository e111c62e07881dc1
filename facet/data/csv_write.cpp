#include "facet/data/csv_write.h"

#include "facet/core/file.h"

namespace facet {

namespace {

std::string csv_row(const std::vector<std::string>& cells, char separator) {
  std::string row;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) row += separator;
    row += csv_cell(cells[i], separator);
  }
  // A lone empty cell would be a blank line, which readers skip.
  return (cells.size() == 1 && row.empty() ? "\"\"" : row) + "\n";
}

}  // namespace

std::string csv_cell(const std::string& text, char separator) {
  const bool plain = text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos;
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

void write_csv(const std::filesystem::path& path, const std::vector<std::string>& columns,
               const std::vector<std::vector<std::string>>& rows, char separator) {
  AtomicFile file(path, "writing a table");
  file.write(csv_row(columns, separator));
  for (const auto& row : rows) file.write(csv_row(row, separator));
  file.commit();
}

}  // namespace facet
