// From a table to labels: which row describes which file, which columns are properties, and which
// value each cell has. People write names and values in more than one way; what is taken for the
// same thing is defined here, and every such decision is a sentence for the user.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/csv.h"
#include "facet/data/import_options.h"
#include "facet/data/pack.h"

namespace facet {

/// The column called `name`; throws an Error that names near ones.
size_t column_of(const Table& table, const std::string& name, const std::string& object);

struct RowsOfFiles {
  std::vector<int64_t> rows;    ///< of each file its row, -1 if it has none
  int64_t unmatched = 0;        ///< rows that name no file
  std::string first_unmatched;  ///< what the first of them has in the key column
};

/// A row names its file by the path in the folder (also with the folder's own name and more in
/// front, or with backslashes), by the file name, or by the file name without its ending; a name
/// that matches nothing is tried again without regard to case. `folder` is the folder's name, the
/// files are paths in it. Two rows for a file, a row for two files, and a table without any row
/// that matches are Errors.
RowsOfFiles match_rows(const Table& table, size_t key, const std::vector<std::string>& files,
                       const std::string& folder, const std::string& object);

/// More values than this and a column is taken for names or numbers, not for a property, unless
/// --property names it.
inline constexpr size_t kMostValues = 200;

struct TableLabels {
  std::vector<Property> properties;
  torch::Tensor labels;              ///< I32 [N, P], -1 where unknown
  torch::Tensor split;               ///< U8 [N] by the split column; kNoSplit where it says nothing
  std::vector<std::string> remarks;  ///< sentences about columns and values
};
inline constexpr int64_t kNoSplit = 255;

/// Row `rows[n]` of the table describes image n; -1 means no row. Values are trimmed. Those that
/// differ only by case are one value, in its most frequent spelling, unless the options keep them.
/// Without --property every column but `key_columns` and the split is a property if it has 2 to
/// kMostValues values.
TableLabels labels_of(const Table& table, const std::vector<int64_t>& rows,
                      const std::set<size_t>& key_columns, const TableOptions& options,
                      const std::string& object);

}  // namespace facet
