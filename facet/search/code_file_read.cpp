// The reading half of code_file.h, and what both halves share.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/array_read.h"
#include "facet/data/csv.h"
#include "facet/data/pack_texts.h"
#include "facet/model/fingerprint.h"
#include "facet/search/code_bits.h"
#include "facet/search/code_file.h"
#include "facet/search/code_header.h"

namespace facet {

namespace {

constexpr const char* kReadingCodes = "reading codes";

int64_t find_column(const Table& table, const std::string& name) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  return found == table.columns.end() ? -1 : found - table.columns.begin();
}

std::vector<uint8_t> bytes_of_hex(const std::string& text, int64_t expected,
                                  const Attempt& reading) {
  std::vector<uint8_t> bytes(static_cast<size_t>(expected));
  bool good = text.size() == 2 * bytes.size();
  for (size_t b = 0; good && b < bytes.size(); ++b) {
    const char* const pair = text.data() + 2 * b;
    good = std::from_chars(pair, pair + 2, bytes[b], 16).ptr == pair + 2;
  }
  if (!good)
    reading.fail(fmt::format("the packed code '{}'", text),
                 fmt::format("{} bytes in hexadecimal digits", expected));
  return bytes;
}

torch::Tensor packed_column(const Table& table, int64_t column, const CodeLayout& layout,
                            const Attempt& reading) {
  torch::Tensor packed =
      torch::empty({static_cast<int64_t>(table.rows.size()), layout.bytes()}, kUInt8);
  uint8_t* next = packed.data_ptr<uint8_t>();
  for (const auto& row : table.rows) {
    const auto bytes = bytes_of_hex(row[static_cast<size_t>(column)], layout.bytes(), reading);
    next = std::copy(bytes.begin(), bytes.end(), next);
  }
  return unpack_codes(packed, layout);
}

/// Components by name or number, from one column per factor.
torch::Tensor factor_columns(const Table& table, const FactorialMixture& prior,
                             const Attempt& reading) {
  const auto rows = static_cast<int64_t>(table.rows.size());
  torch::Tensor codes = torch::empty({rows, static_cast<int64_t>(prior.size())}, kInt64);
  for (size_t i = 0; i < prior.size(); ++i) {
    const FactorOptions& factor = prior.factors[i];
    const int64_t column = find_column(table, factor.name);
    if (column < 0)
      reading.fail(
          fmt::format("no column '{}'", factor.name),
          fmt::format("one per factor of the model, or '{}' with packed codes", kPackedColumn),
          fmt::format("columns: {}", fmt::join(table.columns, ", ")));
    int64_t* code = codes.data_ptr<int64_t>() + i;
    for (const auto& row : table.rows) {
      *code = factor.component_of(row[static_cast<size_t>(column)]);
      code += prior.size();
    }
  }
  return codes;
}

StoredCodes read_table_codes(const std::filesystem::path& path, const FactorialMixture& prior) {
  const Attempt reading{kReadingCodes, path.string()};
  const Table table = read_csv(path);
  const int64_t packed = find_column(table, kPackedColumn);
  const bool is_packed = packed >= 0 && find_column(table, prior.factors[0].name) < 0;
  StoredCodes stored;
  stored.codes = is_packed ? packed_column(table, packed, CodeLayout(components_of(prior)), reading)
                           : factor_columns(table, prior, reading);
  if (const int64_t column = find_column(table, kFileColumn); column >= 0) {
    std::vector<std::string> names;
    for (const auto& row : table.rows) names.push_back(row[static_cast<size_t>(column)]);
    stored.names = TextColumn(names);
  }
  return stored;
}

/// Integers [N, columns] of any width.
torch::Tensor whole_numbers(const torch::Tensor& array, const std::string& name, int64_t columns,
                            const Attempt& reading) {
  if (!c10::isIntegralType(array.scalar_type(), /*includeBool=*/false) || array.dim() != 2 ||
      array.size(1) != columns)
    reading.fail(fmt::format("an array '{}' of {} [{}]", name, c10::toString(array.scalar_type()),
                             fmt::join(array.sizes().begin(), array.sizes().end(), ", ")),
                 fmt::format("integers [N, {}]", columns), "is it of another model?");
  return array;
}

StoredCodes read_array_codes(const std::filesystem::path& path, const Vae& model, bool packed) {
  const Attempt reading{kReadingCodes, path.string()};
  ArrayFile file = read_arrays(path, kReadingCodes);
  if (const auto made = file.metadata.find("model");
      made != file.metadata.end() && made->second != fingerprint(model))
    reading.fail(fmt::format("codes of a model with fingerprint {}", made->second),
                 fmt::format("{}, this model's", fingerprint(model)),
                 "were they made by another run?");
  const bool plain = file.arrays.contains("");  // a .npy
  std::string name = plain ? "" : kCodesArray;
  if (!plain && !file.arrays.contains(name)) {
    packed = true;
    name = kPackedArray;
  }
  if (!file.arrays.contains(name))
    reading.fail("no codes", fmt::format("an array '{}' or '{}'", kCodesArray, kPackedArray));
  const CodeLayout layout(components_of(model.prior));
  StoredCodes stored;
  if (packed && name != kCodesArray) {
    const torch::Tensor bytes = whole_numbers(file.arrays[name], name, layout.bytes(), reading);
    stored.codes = unpack_codes(bytes.to(kUInt8), layout);
  } else {
    const auto factors = static_cast<int64_t>(model.prior.size());
    stored.codes = whole_numbers(file.arrays[name], name, factors, reading).to(kInt64);
  }
  if (file.texts.contains(kFilesArray)) stored.names = file.texts[kFilesArray];
  if (file.arrays.contains(kFilesArray))
    stored.names = read_texts({file.arrays, file.metadata}, kFilesArray, 1, stored.codes.size(0),
                              path.string())
                       .front();
  if (!stored.names.empty() && stored.names.size() != stored.codes.size(0))
    reading.fail(fmt::format("{} names for {} codes", stored.names.size(), stored.codes.size(0)),
                 "one each");
  return stored;
}

}  // namespace

std::vector<int64_t> components_of(const FactorialMixture& prior) {
  std::vector<int64_t> components;
  for (const FactorOptions& factor : prior.factors) components.push_back(factor.components);
  return components;
}

std::map<std::string, std::string> code_metadata(const Vae& model, bool packed) {
  Json factors = Json::array();
  for (const FactorOptions& factor : model.prior.factors)
    factors.push_back({{"name", factor.name},
                       {"components", factor.components},
                       {"bits", bits_of(factor.components)},
                       {"dimensions", factor.dimensions},
                       {"values", factor.values}});
  std::map<std::string, std::string> metadata = {
      {"format", kCodesFormat},
      {"model", fingerprint(model)},
      {"factors", factors.dump(-1, ' ', false, Json::error_handler_t::replace)}};
  if (packed)
    metadata["layout"] =
        "one code per row; the bits of the factors follow each other, the first from the lowest "
        "bit of the first byte on; the last byte is filled up with zeros";
  return metadata;
}

StoredCodes read_code_file(const std::filesystem::path& path, const Vae& model, bool packed) {
  const std::string ending = path.extension().string();
  const Attempt reading{kReadingCodes, path.string()};
  if (ending != ".csv" && ending != ".npy" && ending != ".npz" && ending != ".safetensors")
    reading.fail(ending.empty() ? "no ending" : fmt::format("the ending '{}'", ending),
                 ".csv, .npy, .npz or .safetensors");
  StoredCodes stored = ending == ".csv" ? read_table_codes(path, model.prior)
                                        : read_array_codes(path, model, packed);
  if (stored.codes.size(0) == 0) reading.fail("no code", "at least one");
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const FactorOptions& factor = model.prior.factors[i];
    const torch::Tensor column = stored.codes.select(1, static_cast<int64_t>(i));
    const torch::Tensor bad = column.lt(0).logical_or(column.ge(factor.components));
    if (!bad.any().item<bool>()) continue;
    const auto row = bad.to(kUInt8).argmax().item<int64_t>();
    reading.fail(fmt::format("component {} of factor '{}' in row {}", column[row].item<int64_t>(),
                             factor.name, row),
                 fmt::format("0 to {}", factor.components - 1),
                 packed ? "" : "are the codes packed? --packed reads those of a .npy");
  }
  return stored;
}

}  // namespace facet
