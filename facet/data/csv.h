// Tables of text, as label tables come: comma-separated values after RFC 4180. The reader is
// strict, because a row that has slipped by one cell would give every image after it wrong labels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace facet {

struct Table {
  std::vector<std::string> columns;            ///< the header: names, each given once
  std::vector<std::vector<std::string>> rows;  ///< each with as many cells as there are columns
};

/// Reads a table, plain or gzip, with or without a byte-order mark, with either line end. Blank
/// lines are passed over where there is more than one column. An Error names the line it is in.
/// The format has no end mark: a plain file cut inside the last cell of a row cannot be told from
/// a whole one, a gzip file can.
Table read_csv(const std::filesystem::path& path);

}  // namespace facet
