#include "facet/fit/vector_labels.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/data/array_file.h"
#include "facet/data/csv.h"
#include "facet/data/text_encoding.h"
#include "facet/eval/component_labels.h"

namespace facet {

namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Integers as integers, all else by the alphabet.
bool comes_before(const std::string& one, const std::string& other) {
  const auto first = whole_number(one), second = whole_number(other);
  if (first && second) return *first < *second;
  return first.has_value() != second.has_value() ? first.has_value() : one < other;
}

/// A column of texts as the indices of its values; empty cells are -1.
torch::Tensor index_values(const std::vector<std::string>& cells, Property& property) {
  std::map<std::string, int64_t> index;
  for (const std::string& cell : cells)
    if (!cell.empty()) index.emplace(cell, 0);
  // Among integers -1 is the usual mark of the unknown.
  const bool integers = std::all_of(index.begin(), index.end(), [](const auto& entry) {
    return whole_number(entry.first).has_value();
  });
  if (integers) index.erase("-1");
  for (const auto& [value, place] : index) property.values.push_back(value);
  std::sort(property.values.begin(), property.values.end(), comes_before);
  for (size_t v = 0; v < property.values.size(); ++v)
    index[property.values[v]] = static_cast<int64_t>(v);
  torch::Tensor labels = torch::full({static_cast<int64_t>(cells.size())}, -1, kInt64);
  auto* const place = labels.data_ptr<int64_t>();
  for (size_t n = 0; n < cells.size(); ++n)
    if (const auto found = index.find(cells[n]); found != index.end()) place[n] = found->second;
  return labels;
}

/// A .npy of integers with one row per vector, int64 [N, P].
torch::Tensor read_integers(const std::filesystem::path& path, int64_t vectors,
                            const Attempt& reading) {
  torch::Tensor array = read_array(path);
  if (array.is_floating_point())
    reading.fail("real numbers", "integers", "labels.astype('int64') converts them in NumPy");
  if (array.dim() == 1) array = array.unsqueeze(1);
  if (array.dim() != 2)
    reading.fail(fmt::format("an array of {} dimensions", array.dim()), "1 or 2");
  if (array.size(0) != vectors)
    reading.fail(fmt::format("{} rows", array.size(0)),
                 fmt::format("{}, one for each vector", vectors));
  if (array.size(1) == 0) reading.fail("no column", "at least one");
  return array.to(kInt64);
}

bool is_npy(const std::filesystem::path& path) {
  return lower_case(path.extension().string()) == ".npy";
}

std::vector<std::vector<std::string>> columns_of_integers(const torch::Tensor& array) {
  std::vector<std::vector<std::string>> columns;
  for (int64_t p = 0; p < array.size(1); ++p) {
    const torch::Tensor column = array.select(1, p).contiguous();
    const auto* const numbers = column.data_ptr<int64_t>();
    columns.emplace_back();
    for (int64_t n = 0; n < column.numel(); ++n)
      columns.back().push_back(std::to_string(numbers[n]));
  }
  return columns;
}

}  // namespace

VectorLabels read_vector_labels(const std::filesystem::path& path, int64_t vectors) {
  const Attempt reading{"reading labels", path.string()};
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> columns;
  if (is_npy(path)) {
    columns = columns_of_integers(read_integers(path, vectors, reading));
    for (size_t p = 0; p < columns.size(); ++p)
      names.push_back(columns.size() == 1 ? "label" : fmt::format("label{}", p));
  } else {
    const Table table = read_csv(path);
    if (static_cast<int64_t>(table.rows.size()) != vectors)
      reading.fail(fmt::format("{} rows", table.rows.size()),
                   fmt::format("{}, one for each vector", vectors));
    names = table.columns;
    columns.resize(names.size());
    for (const auto& row : table.rows)
      for (size_t p = 0; p < names.size(); ++p) columns[p].emplace_back(trimmed(row[p]));
  }
  VectorLabels result;
  std::vector<torch::Tensor> labels;
  for (size_t p = 0; p < names.size(); ++p) {
    result.properties.push_back({names[p], {}});
    labels.push_back(index_values(columns[p], result.properties.back()));
  }
  result.labels = torch::stack(labels, 1);
  return result;
}

torch::Tensor labels_of_factors(const VectorLabels& labels,
                                const std::vector<FactorOptions>& factors) {
  std::vector<torch::Tensor> columns;
  bool any = false;
  for (const FactorOptions& factor : factors) {
    torch::Tensor own;
    for (size_t p = 0; p < labels.properties.size(); ++p)
      if (factor.named() && labels.properties[p].name == factor.property)
        own = component_labels(labels.labels.select(1, static_cast<int64_t>(p)),
                               labels.properties[p], factor);
    any = any || own.defined();
    columns.push_back(own);
  }
  if (!any) return {};
  for (torch::Tensor& column : columns)
    if (!column.defined()) column = torch::full({labels.labels.size(0)}, -1, kInt64);
  return torch::stack(columns, 1);
}

torch::Tensor read_start(const std::filesystem::path& path, int64_t vectors, int64_t factors) {
  const Attempt reading{"reading the starting components", path.string()};
  if (!is_npy(path)) reading.fail("another ending", "a .npy of integers");
  const torch::Tensor array = read_integers(path, vectors, reading);
  if (array.size(1) != factors)
    reading.fail(fmt::format("{} columns", array.size(1)),
                 fmt::format("{}, one for each factor", factors));
  return array;
}

}  // namespace facet
