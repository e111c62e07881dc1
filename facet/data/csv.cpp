#include "facet/data/csv.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/data/text_encoding.h"

namespace facet {
namespace {

constexpr const char* kReadingCsv = "reading a CSV table";
constexpr std::string_view kSeparators = ",;\t";

/// The separator that occurs most often in the header, outside quotes; the comma if there is none.
char separator_of(std::string_view text) {
  std::array<size_t, kSeparators.size()> counts{};
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r')) break;
    if (const size_t kind = kSeparators.find(c); !quoted && kind != std::string_view::npos)
      ++counts[kind];
  }
  return kSeparators[static_cast<size_t>(std::max_element(counts.begin(), counts.end()) -
                                         counts.begin())];
}

/// Reads the text row by row and counts lines for error messages.
class Parser {
 public:
  Parser(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {
    // Excel's way to name the separator: a first line of its own.
    if (text_.size() > 5 && lower_case(text_.substr(0, 4)) == "sep=" &&
        kSeparators.find(text_[4]) != std::string_view::npos &&
        (text_[5] == '\n' || text_.substr(5, 2) == "\r\n")) {
      separator_ = text_[4];
      next_ = text_[5] == '\n' ? 6 : 7;
      ++line_;
    } else {
      separator_ = separator_of(text_);
    }
  }

  char separator() const { return separator_; }

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
    throw Error({.doing = kReadingCsv,
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
    const auto special = [this](char c) {
      return c == separator_ || c == '\n' || c == '\r' || c == '"';
    };
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

  /// Skips the separator or line end after a cell; true if it was a line end.
  bool ends_row() {
    if (at_end()) return true;
    if (text_[next_] == separator_) {
      ++next_;
      return false;
    }
    if (!at_blank_line())
      fail(fmt::format("{} in line {}", stray(text_[next_]), line_),
           fmt::format("a {} or a line end after every cell", separator_name(separator_)),
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
  char separator_ = ',';
};

std::vector<std::string> take_header(Parser& parser) {
  std::vector<std::string> columns = parser.take_row(0);
  for (std::string& name : columns) name = std::string(trimmed(name));
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

std::string separator_name(char separator) {
  return separator == ',' ? "comma" : separator == ';' ? "semicolon" : "tab";
}

Table read_csv(const std::filesystem::path& path) {
  const DecodedText decoded =
      to_utf8(read_maybe_gzip(path, kReadingCsv), {kReadingCsv, path.string()});
  const std::string_view text = decoded.text;
  Parser parser(text, path.string());
  if (parser.at_end()) parser.fail("an empty file", "a first line that names the columns");
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    parser.fail(fmt::format("a zero byte at position {}", nul), "text in UTF-8",
                "is this a spreadsheet or UTF-16? Save it as CSV in UTF-8");

  Table table;
  table.separator = parser.separator();
  table.encoding = decoded.encoding;
  table.columns = take_header(parser);
  while (!parser.at_end()) {
    const size_t line = parser.line();
    const bool blank = table.columns.size() > 1 && parser.at_blank_line();
    std::vector<std::string> cells = parser.take_row(table.columns.size());
    if (blank) continue;
    if (cells.size() != table.columns.size())
      parser.fail(fmt::format("{} cells in line {}", cells.size(), line),
                  fmt::format("{}, one per column", table.columns.size()),
                  fmt::format("a cell with a {} in it needs quotes around it",
                              separator_name(table.separator)));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace facet
