// CSV tables (RFC 4180), the form in which people have labels, with the separators and encodings
// that spreadsheets use. The reader is strict otherwise: a row with a missing or extra cell would
// give images wrong labels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace facet {

struct Table {
  std::vector<std::string> columns;            ///< the header: names, each given once
  std::vector<std::vector<std::string>> rows;  ///< each with as many cells as there are columns
  char separator = ',';                        ///< comma, semicolon or tab
  std::string encoding = "UTF-8";              ///< of the file; cells are UTF-8
};

/// "comma", "semicolon" or "tab".
std::string separator_name(char separator);

/// Reads a table, plain or gzip, in an encoding of text_encoding.h, with LF or CRLF line ends. The
/// separator is the one that gives the header most columns, or the one that a first line "sep=;"
/// names. Names of columns are trimmed, cells are not. Blank lines are skipped if there is more
/// than one column. Errors name the line. CSV has no end mark: a plain file cut short inside the
/// last cell of a row looks complete, a gzip file does not.
Table read_csv(const std::filesystem::path& path);

}  // namespace facet
