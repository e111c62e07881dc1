// A CSV of numbers: parsed in one go into float64, without a string for every cell.
#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/array_file.h"
#include "facet/data/text_encoding.h"

namespace facet {

namespace {

constexpr std::string_view separators = ",;\t";

/// A cell without spaces and quotes around it.
std::string_view plain(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
    cell = trimmed(cell.substr(1, cell.size() - 2));
  if (!cell.empty() && cell.front() == '+') cell.remove_prefix(1);
  return cell;
}

bool parse_number(std::string_view cell, double& number) {
  const std::string_view text = plain(cell);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// The separator that the first line has most of.
char most_frequent_separator(std::string_view line) {
  const auto count = [&](char c) { return std::count(line.begin(), line.end(), c); };
  return *std::max_element(separators.begin(), separators.end(),
                           [&](char a, char b) { return count(a) < count(b); });
}

class NumberTable {
 public:
  NumberTable(std::string_view text, Attempt reading) : text_(text), reading_(std::move(reading)) {}

  torch::Tensor read() {
    std::string_view line;
    while (next_line(line)) {
      if (trimmed(line).empty()) continue;
      if (columns_ == 0) {
        begin(line);
        if (is_header(line)) continue;
      }
      add_row(line);
    }
    if (rows_ == 0)
      reading_.fail(columns_ == 0 ? "an empty file" : "a header without rows",
                    "a row of numbers for every vector");
    return torch::from_blob(numbers_.data(), {rows_, columns_}, kFloat64).clone();
  }

 private:
  bool next_line(std::string_view& line) {
    if (next_ >= text_.size()) return false;
    const size_t end = std::min(text_.find('\n', next_), text_.size());
    line = text_.substr(next_, end - next_);
    next_ = end + 1;
    ++line_number_;
    return true;
  }

  template <class Visit>
  void for_cells(std::string_view line, const Visit& visit) const {
    int64_t column = 0;
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find(separator_, begin), line.size());
      visit(column++, line.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  void begin(std::string_view line) {
    separator_ = most_frequent_separator(line);
    for_cells(line, [this](int64_t, std::string_view) { ++columns_; });
  }

  bool is_header(std::string_view line) const {
    bool header = false;
    double ignored = 0;
    for_cells(line, [&](int64_t, std::string_view cell) {
      header = header || (!plain(cell).empty() && !parse_number(cell, ignored));
    });
    return header;
  }

  void add_row(std::string_view line) {
    int64_t cells = 0;
    for_cells(line, [&](int64_t column, std::string_view cell) {
      ++cells;
      double number = 0;
      if (cells > columns_) return;
      if (!parse_number(cell, number))
        reading_.fail(
            fmt::format("{} in line {}, column {}",
                        plain(cell).empty() ? "an empty cell" : fmt::format("'{}'", plain(cell)),
                        line_number_, column + 1),
            "a number");
      numbers_.push_back(number);
    });
    if (cells != columns_)
      reading_.fail(fmt::format("{} cells in line {}", cells, line_number_),
                    fmt::format("{}, as in the first line", columns_));
    ++rows_;
  }

  std::string_view text_;
  Attempt reading_;
  size_t next_ = 0;
  int64_t line_number_ = 0, columns_ = 0, rows_ = 0;
  char separator_ = ',';
  std::vector<double> numbers_;
};

}  // namespace

torch::Tensor read_number_table(const std::filesystem::path& path) {
  const Attempt reading{"reading a CSV of numbers", path.string()};
  const DecodedText decoded = to_utf8(read_maybe_gzip(path, reading.doing), reading);
  return NumberTable(decoded.text, reading).read();
}

}  // namespace facet
