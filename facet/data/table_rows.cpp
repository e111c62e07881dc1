// Which row of a table describes which file: match_rows() of table_labels.h. Exact names come
// before looser ones, and a file that has its row takes no part in what follows.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/data/table_labels.h"
#include "facet/data/text_encoding.h"

namespace facet {

namespace {

constexpr const char* kReadingRows = "importing a table";

using FilesByName = std::unordered_map<std::string, std::vector<size_t>>;

std::string without_folder(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string without_ending(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

/// A cell as a path of ours: trimmed, with slashes, without "./" in front.
std::string as_path(std::string_view cell) {
  std::string path(trimmed(cell));
  std::replace(path.begin(), path.end(), '\\', '/');
  while (path.starts_with("./")) path.erase(0, 2);
  return path;
}

class Matcher {
 public:
  Matcher(const Table& table, size_t key, const std::vector<std::string>& files,
          const std::string& folder, const std::string& object)
      : table_(table), key_(key), files_(files), folder_(folder), object_(object) {
    result_.rows.assign(files.size(), -1);
    matched_.assign(table.rows.size(), false);
  }

  RowsOfFiles match() {
    for (const bool any_case : {false, true}) {
      by_path_.clear();
      by_name_.clear();
      by_stem_.clear();
      for (size_t f = 0; f < files_.size(); ++f) {
        const std::string path = any_case ? lower_case(files_[f]) : files_[f];
        const std::string name = without_folder(path);
        by_path_[path].push_back(f);
        by_name_[name].push_back(f);
        by_stem_[without_ending(name)].push_back(f);
      }
      // Paths first: a row "below/a.png" leaves one file for the row "a.png".
      for (const bool is_path : {true, false})
        for (size_t r = 0; r < table_.rows.size(); ++r) {
          std::string name = as_path(table_.rows[r][key_]);
          if (matched_[r] || name.empty() || (name.find('/') != std::string::npos) != is_path)
            continue;
          if (any_case) name = lower_case(name);
          if (is_path)
            match_path(r, name, any_case ? lower_case(folder_) : folder_);
          else
            match_name(r, name);
        }
    }
    count_unmatched();
    return std::move(result_);
  }

 private:
  /// The path as it is, or what follows our folder's name in it.
  void match_path(size_t row, const std::string& path, const std::string& folder) {
    for (std::string rest = path; !rest.empty();) {
      if (const auto found = by_path_.find(rest); found != by_path_.end())
        return assign(row, found->second);
      const size_t start = ("/" + rest).find("/" + folder + "/");
      if (start == std::string::npos) return;
      rest.erase(0, start + folder.size() + 1);
    }
  }

  void match_name(size_t row, const std::string& name) {
    for (const FilesByName* files : {&by_name_, &by_stem_})
      if (const auto found = files->find(name); found != files->end())
        return assign(row, found->second);
  }

  void assign(size_t row, const std::vector<size_t>& candidates) {
    std::vector<size_t> free;
    for (const size_t file : candidates)
      if (result_.rows[file] < 0) free.push_back(file);
    const std::string& cell = table_.rows[row][key_];
    const Attempt importing{kReadingRows, object_};
    if (free.empty())
      importing.fail(
          fmt::format("two rows for '{}', row {} and row {} ('{}')", files_[candidates.front()],
                      result_.rows[candidates.front()] + 1, row + 1, cell),
          "one row per image");
    if (free.size() > 1)
      importing.fail(fmt::format("row {} for '{}', which matches '{}' and '{}'", row + 1, cell,
                                 files_[free[0]], files_[free[1]]),
                     "one row per image", "give the paths of files that have the same name");
    result_.rows[free.front()] = static_cast<int64_t>(row);
    matched_[row] = true;
  }

  void count_unmatched() {
    for (size_t r = 0; r < matched_.size(); ++r)
      if (!matched_[r] && result_.unmatched++ == 0) result_.first_unmatched = table_.rows[r][key_];
  }

  const Table& table_;
  size_t key_;
  const std::vector<std::string>& files_;
  const std::string& folder_;
  const std::string& object_;
  FilesByName by_path_, by_name_, by_stem_;
  std::vector<bool> matched_;  ///< of each row
  RowsOfFiles result_;
};

/// The column whose cells name most of the files, for a hint; its name, or nothing.
std::string better_key(const Table& table, const std::vector<std::string>& files) {
  std::set<std::string> names;
  for (const std::string& file : files) {
    const std::string name = lower_case(without_folder(file));
    names.insert(name);
    names.insert(without_ending(name));
  }
  for (size_t c = 0; c < table.columns.size(); ++c)
    for (const auto& row : table.rows)
      if (names.count(lower_case(without_folder(as_path(row[c])))) != 0) return table.columns[c];
  return "";
}

}  // namespace

RowsOfFiles match_rows(const Table& table, size_t key, const std::vector<std::string>& files,
                       const std::string& folder, const std::string& object) {
  if (table.rows.empty())
    Attempt{kReadingRows, object}.fail("no row below the header", "one per image");
  RowsOfFiles result = Matcher(table, key, files, folder, object).match();
  if (result.unmatched < static_cast<int64_t>(table.rows.size())) return result;
  const std::string better = better_key(table, files);
  Attempt{kReadingRows, object}.fail(
      fmt::format("no row for any of the {} pictures: column '{}' has '{}' first", files.size(),
                  table.columns[key], result.first_unmatched),
      fmt::format("names of files such as '{}'", files.front()),
      better.empty() ? "--key-column chooses the column with the names"
                     : fmt::format("--key-column {} has some", better));
}

}  // namespace facet
