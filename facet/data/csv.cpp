#include "facet/data/csv.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"

namespace facet {
namespace {

constexpr const char* kDoing = "reading a CSV table";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Reads the text row by row and counts lines for error messages.
class Parser {
 public:
  Parser(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {}

  bool at_end() const { return next_ == text_.size(); }

  /// The line in which the next row begins, counted from 1.
  size_t line() const { return line_; }

  bool at_blank_line() const { return text_[next_] == '\n' || text_.substr(next_, 2) == "\r\n"; }

  std::vector<std::string> take_row(size_t expected_cells) {
    std::vector<std::string> cells;
    cells.reserve(expected_cells);
    do {
      cells.push_back(next_char() == '"' ? take_quoted() : take_plain());
    } while (!ends_row());
    return cells;
  }

  [[noreturn]] void fail(std::string found, std::string expected, std::string cause = "") const {
    throw Error({.doing = kDoing,
                 .object = path_,
                 .found = std::move(found),
                 .expected = std::move(expected),
                 .cause = std::move(cause)});
  }

 private:
  /// The end of the text counts as a line end: the last line need not have one.
  char next_char() const { return at_end() ? '\n' : text_[next_]; }

  std::string take_plain() {
    const size_t begin = next_;
    const auto special = [](char c) { return c == ',' || c == '\n' || c == '\r' || c == '"'; };
    while (next_ < text_.size() && !special(text_[next_])) ++next_;
    return std::string(text_.substr(begin, next_ - begin));
  }

  std::string take_quoted() {
    const size_t first_line = line_;
    std::string cell;
    while (true) {
      const size_t begin = next_ + 1;
      next_ = text_.find('"', begin);
      if (next_ == std::string_view::npos)
        fail(fmt::format("a quote opened in line {} that never closes", first_line),
             "a closing quote", "was the file cut short?");
      const std::string_view part = text_.substr(begin, next_ - begin);
      line_ += static_cast<size_t>(std::count(part.begin(), part.end(), '\n'));
      cell += part;
      ++next_;
      if (at_end() || text_[next_] != '"') return cell;
      cell += '"';  // two quotes in a row stand for one
    }
  }

  /// Skips the comma or line end after a cell; true if it was a line end.
  bool ends_row() {
    if (at_end()) return true;
    if (text_[next_] == ',') {
      ++next_;
      return false;
    }
    if (!at_blank_line())
      fail(fmt::format("{} in line {}", stray(text_[next_]), line_),
           "a comma or a line end after every cell",
           "quotes go around a whole cell and are doubled inside it");
    next_ += text_[next_] == '\r' ? 2 : 1;
    ++line_;
    return true;
  }

  /// Describes the character found where a cell should have ended.
  static const char* stray(char c) {
    if (c == '"') return "a quote in the middle of a cell";
    if (c == '\r') return "a carriage return without a line feed";
    return "text after a closing quote";
  }

  std::string_view text_;
  std::string path_;
  size_t next_ = 0;
  size_t line_ = 1;
};

std::vector<std::string> take_header(Parser& parser) {
  const std::vector<std::string> columns = parser.take_row(0);
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns[i];
    if (name.empty())
      parser.fail(fmt::format("no name for column {} of {}", i + 1, columns.size()),
                  "a first line that names every column");
    if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; }))
      parser.fail(fmt::format("control characters in the name of column {}", i + 1),
                  "a first line that names every column", "is this a CSV file at all?");
    if (!seen.insert(name).second)
      parser.fail(fmt::format("column {} named '{}' like one before it", i + 1, name),
                  "different names for all columns");
  }
  return columns;
}

}  // namespace

Table read_csv(const std::filesystem::path& path) {
  const std::string bytes = read_maybe_gzip(path, kDoing);
  std::string_view text = bytes;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Parser parser(text, path.string());
  if (parser.at_end()) parser.fail("an empty file", "a first line that names the columns");
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    parser.fail(fmt::format("a zero byte at position {}", nul), "text in UTF-8",
                "is this a spreadsheet or UTF-16? Save it as CSV in UTF-8");

  Table table;
  table.columns = take_header(parser);
  while (!parser.at_end()) {
    const size_t line = parser.line();
    const bool blank = table.columns.size() > 1 && parser.at_blank_line();
    std::vector<std::string> cells = parser.take_row(table.columns.size());
    if (blank) continue;
    if (cells.size() != table.columns.size())
      parser.fail(fmt::format("{} cells in line {}", cells.size(), line),
                  fmt::format("{}, one per column", table.columns.size()),
                  "a cell with a comma in it needs quotes around it");
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace facet
