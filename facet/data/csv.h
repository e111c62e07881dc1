// CSV tables (RFC 4180), the form in which people have labels. The reader is strict: a row with a
// missing or extra cell would otherwise give images wrong labels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace facet {

struct Table {
  std::vector<std::string> columns;            ///< the header: names, each given once
  std::vector<std::vector<std::string>> rows;  ///< each with as many cells as there are columns
};

/// Reads a table, plain or gzip, with or without a byte-order mark, with LF or CRLF line ends.
/// Blank lines are skipped if there is more than one column. Errors name the line. CSV has no end
/// mark: a plain file cut short inside the last cell of a row looks complete, a gzip file does not.
Table read_csv(const std::filesystem::path& path);

}  // namespace facet
