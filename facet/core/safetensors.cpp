#include "facet/core/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "facet/core/checksum.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/safetensors_header.h"
#include "facet/core/torch.h"

namespace facet {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace {

using Json = nlohmann::ordered_json;

struct TypeName {
  const char* name;
  torch::ScalarType type;
};
constexpr TypeName type_names[] = {
    {"F64", kFloat64}, {"F32", kFloat32},      {"F16", kFloat16}, {"BF16", torch::kBFloat16},
    {"I64", kInt64},   {"I32", kInt32},        {"I16", kInt16},   {"I8", kInt8},
    {"U8", kUInt8},    {"BOOL", torch::kBool},
};
/// Larger headers are refused, as in the reference implementation of the format.
constexpr uint64_t largest_header = 100'000'000;
/// A header needs three levels. The limit bounds the recursion when an entry is printed.
constexpr int deepest_nesting = 16;
constexpr size_t most_small_bytes = size_t{64} << 20;
constexpr uint64_t most_elements = std::numeric_limits<int64_t>::max();

struct Source {
  std::string doing, object;
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw Error({.doing = doing,
                 .object = object,
                 .found = found,
                 .expected = expected,
                 .cause = "is the file damaged, cut short, or not a safetensors file?"});
  }
};

std::string shape_text(torch::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

const char* type_name(torch::ScalarType type) {
  for (const auto& entry : type_names)
    if (entry.type == type) return entry.name;
  return c10::toString(type);
}

/// Checks one header entry against the size of the file and makes a view of the tensor's bytes.
torch::Tensor view_of(const Json& entry, const std::string& name, const std::byte* bytes,
                      uint64_t size, const std::shared_ptr<MappedFile>& file,
                      const Source& source) {
  const std::string what = fmt::format("tensor '{}' ", name);
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets"))
    source.fail(what + "without dtype, shape or data_offsets", "all three");
  const Json &dtype = entry["dtype"], &shape_json = entry["shape"],
             &offsets = entry["data_offsets"];
  const TypeName* type = nullptr;
  for (const auto& candidate : type_names)
    if (dtype == candidate.name) type = &candidate;
  if (type == nullptr) source.fail(what + "of type " + dtype.dump(), "F32, F64, U8, I32, ...");

  std::vector<int64_t> shape;
  uint64_t count = 1, stride = 1;  // `stride` skips zeros: strides of empty tensors must fit too
  if (!shape_json.is_array()) source.fail(what + "with shape " + shape_json.dump(), "a list");
  for (const Json& extent : shape_json) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > (uint64_t{1} << 62))
      source.fail(what + "with a bad shape", "whole numbers");
    shape.push_back(extent.get<int64_t>());
    const auto side = extent.get<uint64_t>();
    count = side == 0 ? 0 : count * side;
    if (__builtin_mul_overflow(stride, std::max<uint64_t>(1, side), &stride) ||
        stride > most_elements)
      source.fail(what + "with a shape that overflows", "a smaller one");
  }
  const auto element = static_cast<uint64_t>(c10::elementSize(type->type));
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    source.fail(what + "with bad data_offsets", "two whole numbers");
  const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > size)
    source.fail(fmt::format("{}at bytes {} to {} of {}", what, begin, end, size),
                "offsets inside the file");
  if (count > size || end - begin != count * element)
    source.fail(fmt::format("{}of shape {} in {} bytes", what, shape_text(shape), end - begin),
                fmt::format("{} bytes", count * element));
  // Some writers do not align tensors; LibTorch needs elements on their natural boundary.
  const std::byte* address = bytes + begin;
  const auto options = torch::TensorOptions().dtype(type->type);
  if (count == 0) return torch::empty(shape, options);
  if (reinterpret_cast<uintptr_t>(address) % element != 0) {
    torch::Tensor copy = torch::empty(shape, options);
    std::memcpy(copy.data_ptr(), address, end - begin);
    return copy;
  }
  return torch::from_blob(
      const_cast<std::byte*>(address), shape, [file](void*) {}, options);
}

}  // namespace

const torch::Tensor& TensorFile::get(const std::string& name, torch::ScalarType type,
                                     torch::IntArrayRef shape, const std::string& object) const {
  const std::string expected = fmt::format("{} {}", type_name(type), shape_text(shape));
  const auto entry = tensors.find(name);
  if (entry == tensors.end())
    throw Error({.doing = fmt::format("reading tensor '{}' of", name),
                 .object = object,
                 .found = "no such tensor",
                 .expected = expected,
                 .cause = "is this another kind of file?"});
  const torch::Tensor& tensor = entry->second;
  bool matches = tensor.scalar_type() == type && tensor.dim() == static_cast<int64_t>(shape.size());
  for (int64_t d = 0; matches && d < tensor.dim(); ++d)
    matches = shape[d] == -1 || shape[d] == tensor.size(d);
  if (!matches)
    throw Error(
        {.doing = fmt::format("reading tensor '{}' of", name),
         .object = object,
         .found = fmt::format("{} {}", type_name(tensor.scalar_type()), shape_text(tensor.sizes())),
         .expected = expected,
         .cause = "was it made with another config?"});
  return tensor;
}

const torch::Tensor& TensorFile::get_weight(const std::string& name, torch::IntArrayRef shape,
                                            const std::string& object) const {
  const auto entry = tensors.find(name);
  const bool half = entry != tensors.end() && entry->second.scalar_type() == torch::kBFloat16;
  return get(name, half ? torch::kBFloat16 : kFloat32, shape, object);
}

namespace {

/// The header, and the number of its bytes with its length.
std::pair<Json, uint64_t> read_header(const MappedFile& mapped, const Source& source) {
  if (mapped.size() < 8) source.fail(fmt::format("{} bytes", mapped.size()), "a header");
  uint64_t header_size = 0;
  std::memcpy(&header_size, mapped.data(), 8);
  if (header_size > mapped.size() - 8 || header_size > largest_header)
    source.fail(fmt::format("a header of {} bytes in a file of {}", header_size, mapped.size()),
                "a header inside the file");

  const char* text = reinterpret_cast<const char*>(mapped.data()) + 8;
  if (std::memchr(text, 0, header_size) != nullptr)  // the parser would take it for the end
    source.fail("a header with a byte of 0", "text");
  const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > deepest_nesting) source.fail("a header nested too deep", "tensors by name");
    return true;
  };
  Json header = Json::parse(text, text + header_size, check_depth, /*allow_exceptions=*/false);
  if (!header.is_object()) source.fail("a header that is not a JSON object", "one");
  return {header, 8 + header_size};
}

void require_checksum(const std::string& what, const std::string& found,
                      const std::string& expected, const Source& source) {
  if (found != expected)
    source.fail(fmt::format("{} with checksum {}", what, found), "checksum " + expected);
}

const std::string& stored_checksum(const std::map<std::string, std::string>& checksums,
                                   const std::string& name, const Source& source) {
  const auto found = checksums.find(name);
  if (found == checksums.end()) source.fail("no checksum of '" + name + "'", "one");
  return found->second;
}

void verify_tensors(const std::map<std::string, torch::Tensor>& tensors,
                    const std::map<std::string, std::string>& checksums, Verify verify,
                    const Source& source) {
  for (const auto& [name, tensor] : tensors) {
    if (verify == Verify::small && tensor.nbytes() > most_small_bytes) continue;
    require_checksum("tensor '" + name + "'", checksum_of(tensor.data_ptr(), tensor.nbytes()),
                     stored_checksum(checksums, name, source), source);
  }
}

}  // namespace

TensorFile read_safetensors(const std::filesystem::path& path, const std::string& doing,
                            Verify verify) {
  const Source source{doing, path.string()};
  const auto file = std::make_shared<MappedFile>(path, doing);
  auto [header, begin_of_tensors] = read_header(*file, source);
  const std::map<std::string, std::string> checksums = take_checksums(header);
  if (!checksums.empty())
    require_checksum("a header", header_checksum(header), stored_checksum(checksums, "", source),
                     source);

  TensorFile result;
  const std::byte* bytes = file->data() + begin_of_tensors;
  const uint64_t size = file->size() - begin_of_tensors;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // begin and end of every tensor's bytes
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) source.fail("metadata that is not a JSON object", "one");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) source.fail("metadata '" + key + "' that is not text", "text");
        result.metadata[key] = value.get<std::string>();
      }
    } else {
      result.tensors[name] = view_of(entry, name, bytes, size, file, source);
      const Json& offsets = entry["data_offsets"];
      ranges.emplace_back(offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>());
    }
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t used = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != used)
      source.fail(fmt::format("a tensor at byte {} after one that ends at {}", begin, used),
                  "tensors without gaps or overlaps");
    used = end;
  }
  if (used != size)
    source.fail(fmt::format("{} bytes of tensors", size), fmt::format("{} by the header", used));
  if (!checksums.empty()) verify_tensors(result.tensors, checksums, verify, source);
  return result;
}

bool has_checksums(const std::filesystem::path& path, const std::string& doing) {
  Json header = read_header(MappedFile(path, doing), {doing, path.string()}).first;
  return !take_checksums(header).empty();
}

TensorEntry entry_of(const std::string& name, const torch::Tensor& tensor) {
  return {name, type_name(tensor.scalar_type()), tensor.sizes().vec(), tensor.nbytes(),
          checksum_of(tensor.data_ptr(), tensor.nbytes())};
}

void write_safetensors(const std::filesystem::path& path, const TensorFile& file,
                       const std::string& doing) {
  AtomicFile output(path, doing);
  write_safetensors(output, file, doing);
  output.commit();
}

void write_safetensors(AtomicFile& output, const TensorFile& file, const std::string& doing) {
  std::vector<TensorEntry> entries;
  std::vector<torch::Tensor> plain;
  // The widest types first, so that every tensor starts on its natural boundary.
  std::vector<std::pair<std::string, torch::Tensor>> ordered(file.tensors.begin(),
                                                             file.tensors.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return a.second.element_size() > b.second.element_size();
  });
  for (const auto& [name, tensor] : ordered) {
    if (std::none_of(std::begin(type_names), std::end(type_names),
                     [&](const TypeName& entry) { return entry.type == tensor.scalar_type(); }))
      throw Error({.doing = doing,
                   .object = output.path().string(),
                   .found = fmt::format("tensor '{}' of type {}", name,
                                        c10::toString(tensor.scalar_type())),
                   .expected = "a type that safetensors files can hold"});
    plain.push_back(tensor.detach().to(torch::kCPU).contiguous());
    entries.push_back(entry_of(name, plain.back()));
  }
  std::string text = safetensors_header(file.metadata, entries);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t header_size = text.size();

  output.write(&header_size, sizeof header_size);
  output.write(text);
  for (const torch::Tensor& tensor : plain) output.write(tensor.data_ptr(), tensor.nbytes());
}

}  // namespace facet
