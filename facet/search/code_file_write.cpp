// The writing half of code_file.h.
#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/array_write.h"
#include "facet/data/csv_write.h"
#include "facet/data/npy_format.h"
#include "facet/search/code_bits.h"
#include "facet/search/code_file.h"
#include "facet/search/code_header.h"

namespace facet {

namespace {

constexpr const char* kWritingCodes = "writing codes";

/// One row of text per image.
class TableWriter : public CodeWriter {
 public:
  TableWriter(const std::filesystem::path& path, const Vae& model, const Pack& pack,
              const CodeContents& contents)
      : file_(path, kWritingCodes),
        prior_(model.prior),
        pack_(pack),
        contents_(contents),
        layout_(components_of(model.prior)) {
    std::string header = pack.files.empty() ? kNumberColumn : kFileColumn;
    const auto column = [&](const std::string& name) { header += "," + csv_cell(name, ','); };
    if (contents.packed) column(kPackedColumn);
    for (const FactorOptions& factor : prior_.factors)
      if (!contents.packed) column(factor.name);
    for (const FactorOptions& factor : prior_.factors) {
      for (int64_t k = 0; contents.probabilities && k < factor.components; ++k)
        column(factor.name + "=" + factor.component_name(k));
      for (const char* what : {"mean", "variance"})
        for (int64_t d = 0; contents.latents && d < factor.dimensions; ++d)
          column(fmt::format("{} {} {}", factor.name, what, d));
    }
    file_.write(header + "\n");
  }

  void add(const ImageCodes& codes) override {
    std::string rows;
    const torch::Tensor packed =
        contents_.packed ? pack_codes(codes.codes, layout_) : torch::Tensor();
    const ImageCodes numbers =
        contents_.probabilities || contents_.latents ? codes.on_cpu() : ImageCodes();
    for (int64_t n = 0; n < codes.codes.size(0); ++n, ++row_) {
      rows += pack_.files.empty() ? fmt::format("{}", row_)
                                  : csv_cell(std::string(pack_.files[row_]), ',');
      if (contents_.packed) rows += "," + hex_of(packed[n]);
      const int64_t* const code = codes.codes.data_ptr<int64_t>() + n * codes.codes.size(1);
      for (size_t i = 0; !contents_.packed && i < prior_.size(); ++i)
        rows += "," + csv_cell(prior_.factors[i].component_name(code[i]), ',');
      for (size_t i = 0; i < prior_.size(); ++i) add_numbers(rows, numbers, i, n);
      rows += "\n";
    }
    file_.write(rows);
  }

  void finish() override { file_.commit(); }

 private:
  static std::string hex_of(const torch::Tensor& bytes) {
    std::string text;
    for (int64_t b = 0; b < bytes.size(0); ++b)
      text += fmt::format("{:02x}", bytes.data_ptr<uint8_t>()[b]);
    return text;
  }

  void add_numbers(std::string& row, const ImageCodes& codes, size_t factor, int64_t n) const {
    const auto put = [&](const torch::Tensor& all, int64_t begin, int64_t count) {
      const float* const numbers = all.data_ptr<float>() + n * all.size(1) + begin;
      for (int64_t j = 0; j < count; ++j) row += fmt::format(",{:.6g}", numbers[j]);
    };
    const FactorOptions& options = prior_.factors[factor];
    if (contents_.probabilities) put(codes.probabilities[factor], 0, options.components);
    if (!contents_.latents) return;
    put(codes.mean, prior_.block_begin(factor), options.dimensions);
    put(codes.variance, prior_.block_begin(factor), options.dimensions);
  }

  AtomicFile file_;
  const FactorialMixture& prior_;
  const Pack& pack_;
  CodeContents contents_;
  CodeLayout layout_;
  int64_t row_ = 0;
};

/// The smallest type that has all components.
torch::ScalarType code_type(const FactorialMixture& prior) {
  int64_t most = 0;
  for (const FactorOptions& factor : prior.factors) most = std::max(most, factor.components);
  return most <= 256 ? kUInt8 : most <= 32768 ? kInt16 : kInt32;
}

class ArraysWriter : public CodeWriter {
 public:
  ArraysWriter(const std::filesystem::path& path, ArrayFormat format, const Vae& model,
               const Pack& pack, const CodeContents& contents)
      : pack_(pack),
        contents_(contents),
        layout_(components_of(model.prior)),
        type_(contents.packed ? kUInt8 : code_type(model.prior)),
        writer_(path, format, outlines(model.prior, format), code_metadata(model, contents.packed),
                {.doing = kWritingCodes}) {
    if (format == ArrayFormat::safetensors && !pack.files.empty()) put_name_ends();
  }

  void add(const ImageCodes& codes) override {
    const int64_t count = codes.codes.size(0);
    writer_.append(0, contents_.packed ? pack_codes(codes.codes, layout_) : codes.codes.to(type_));
    size_t next = 1;
    if (contents_.latents) {
      writer_.append(next++, codes.mean.cpu());
      writer_.append(next++, codes.variance.cpu());
    }
    if (contents_.probabilities)
      for (const torch::Tensor& probabilities : codes.probabilities)
        writer_.append(next++, probabilities.cpu());
    for (int64_t n = 0; has_names_ && n < count; ++n) {
      const std::string_view name = pack_.files[row_ + n];
      if (wide_names_)
        writer_.append_text(next, name);
      else
        writer_.append(next, name.data(), name.size());
    }
    row_ += count;
  }

  void finish() override { writer_.finish(); }

 private:
  /// In the order in which add() appends them.
  std::vector<ArrayOutline> outlines(const FactorialMixture& prior, ArrayFormat format) {
    const int64_t rows = pack_.count();
    const auto factors = static_cast<int64_t>(prior.size());
    std::vector<ArrayOutline> arrays;
    arrays.push_back({contents_.packed ? kPackedArray : kCodesArray,
                      type_,
                      {rows, contents_.packed ? layout_.bytes() : factors}});
    if (contents_.latents)
      for (const char* name : {"mean", "variance"})
        arrays.push_back({name, kFloat32, {rows, prior.dimensions()}});
    if (contents_.probabilities)
      for (const FactorOptions& factor : prior.factors)
        arrays.push_back({"probabilities." + factor.name, kFloat32, {rows, factor.components}});
    has_names_ = !pack_.files.empty() && format != ArrayFormat::npy;
    wide_names_ = format == ArrayFormat::npz;
    if (has_names_) add_name_outlines(arrays);
    return arrays;
  }

  void add_name_outlines(std::vector<ArrayOutline>& arrays) const {
    int64_t longest = 1, bytes = 0;
    for (int64_t n = 0; n < pack_.count(); ++n) {
      bytes += static_cast<int64_t>(pack_.files[n].size());
      if (wide_names_)
        longest = std::max(longest, static_cast<int64_t>(code_points(pack_.files[n]).size()));
    }
    if (wide_names_) {
      arrays.push_back({kFilesArray, kUInt8, {pack_.count()}, longest});
      return;
    }
    arrays.push_back({kFilesArray, kUInt8, {bytes}});  // as in a pack
    arrays.push_back({std::string(kFilesArray) + ".ends", kInt64, {1, pack_.count()}});
  }

  void put_name_ends() {
    const size_t array =
        2 + (contents_.latents ? 2 : 0) + (contents_.probabilities ? layout_.bits.size() : 0);
    int64_t end = 0;
    std::vector<int64_t> ends;
    for (int64_t n = 0; n < pack_.count(); ++n)
      ends.push_back(end += static_cast<int64_t>(pack_.files[n].size()));
    writer_.append(array, ends.data(), ends.size() * sizeof(int64_t));
  }

  const Pack& pack_;
  CodeContents contents_;
  CodeLayout layout_;
  torch::ScalarType type_;
  bool has_names_ = false, wide_names_ = false;
  ArrayWriter writer_;
  int64_t row_ = 0;
};

}  // namespace

void require_code_ending(const std::filesystem::path& path, const CodeContents& contents) {
  ArrayFormat format;
  const std::string ending = path.extension().string();
  if (ending != ".csv" && !array_format_of(path, format))
    throw Error({.doing = kWritingCodes,
                 .object = path.string(),
                 .found = ending.empty() ? "no ending" : fmt::format("the ending '{}'", ending),
                 .expected = ".csv, .npy, .npz or .safetensors"});
  if (ending == ".npy" && (contents.probabilities || contents.latents))
    throw Error({.doing = kWritingCodes,
                 .object = path.string(),
                 .found = "more than one array for a .npy",
                 .expected = "codes alone",
                 .cause = "an .npz, a .safetensors or a .csv takes all"});
}

std::unique_ptr<CodeWriter> open_code_file(const std::filesystem::path& path, const Vae& model,
                                           const Pack& pack, const CodeContents& contents) {
  require_code_ending(path, contents);
  ArrayFormat format;
  if (!array_format_of(path, format))
    return std::make_unique<TableWriter>(path, model, pack, contents);
  return std::make_unique<ArraysWriter>(path, format, model, pack, contents);
}

}  // namespace facet
