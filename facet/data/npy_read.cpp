#include "facet/data/npy_read.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/data/npy_format.h"

namespace facet {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// What the header says.
struct NpyHeader {
  std::string type;  ///< "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// A type as the file has it, and as we can hold it: LibTorch has no wide unsigned integers.
struct NpyType {
  const char* name;
  torch::ScalarType type;
  int64_t bytes;
  bool copied;  ///< read into a wider type
};
constexpr NpyType types[] = {
    {"f4", kFloat32, 4, false}, {"f8", kFloat64, 8, false},     {"f2", kFloat16, 2, false},
    {"i1", kInt8, 1, false},    {"i2", kInt16, 2, false},       {"i4", kInt32, 4, false},
    {"i8", kInt64, 8, false},   {"u1", kUInt8, 1, false},       {"u2", kInt32, 2, true},
    {"u4", kInt64, 4, true},    {"b1", torch::kBool, 1, false},
};

/// The value of a key of the dictionary, up to where it ends.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t place = header.find(fmt::format("'{}'", key));
  if (place == std::string_view::npos) return {};
  const size_t colon = header.find(':', place);
  if (colon == std::string_view::npos) return {};
  std::string_view rest = header.substr(colon + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const bool tuple = !rest.empty() && rest.front() == '(';
  const size_t end = rest.find_first_of(tuple ? ")" : ",}");
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::optional<std::vector<int64_t>> parse_shape(std::string_view text) {
  if (text.empty() || text.front() != '(') return std::nullopt;
  text.remove_prefix(1);
  std::vector<int64_t> shape;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return shape;
    int64_t size = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0) return std::nullopt;
    shape.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.empty() && text.front() == 'L') text.remove_prefix(1);  // Python 2 wrote 10L
  }
}

NpyHeader parse_header(std::string_view text, const Attempt& reading) {
  NpyHeader header;
  const std::string_view type = value_of(text, "descr"), order = value_of(text, "fortran_order");
  const auto shape = parse_shape(value_of(text, "shape"));
  if (type.size() < 2 || type.front() != '\'' || type.back() != '\'' || !shape ||
      (order != "True" && order != "False"))
    reading.fail("a header without descr, fortran_order and shape of plain numbers", "all three",
                 "is it an array of records or objects, or damaged?");
  header.type = type.substr(1, type.size() - 2);
  header.fortran_order = order == "True";
  header.shape = *shape;
  return header;
}

const NpyType& known_type(const std::string& name, const Attempt& reading) {
  if (name.size() > 1 && name.front() == '>')
    reading.fail(fmt::format("big-endian numbers, '{}'", name), "little-endian ones",
                 "array.astype(array.dtype.newbyteorder('<')) converts them in NumPy");
  for (const NpyType& type : types)
    if (name.size() == 3 && name.substr(1) == type.name) return type;
  reading.fail(fmt::format("values of type '{}'", name), "real numbers or integers",
               "array.astype('float32') converts many types in NumPy");
}

/// Unsigned integers in a type that is wide enough.
template <class From, class To>
torch::Tensor widened(const std::byte* bytes, int64_t count, torch::ScalarType type) {
  torch::Tensor wide = torch::empty({count}, type);
  To* const to = wide.data_ptr<To>();
  for (int64_t i = 0; i < count; ++i) {
    From value = 0;
    std::memcpy(&value, bytes + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    to[i] = static_cast<To>(value);
  }
  return wide;
}

/// The header's text and the byte at which the array begins.
struct Framing {
  std::string_view header;
  size_t data_begin;
};

Framing find_header(std::string_view bytes, const Attempt& reading) {
  if (bytes.empty()) reading.fail("an empty file", "a .npy file");
  if (bytes.substr(0, magic.size()) != magic)
    reading.fail("other first bytes", "a .npy file", "was it saved by numpy.save?");
  const char* const cut = "was the file cut short?";
  if (bytes.size() < 12) reading.fail(fmt::format("{} bytes", bytes.size()), "a header", cut);
  const bool first_version = bytes[6] == 1;
  const size_t begin = first_version ? 10 : 12;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, first_version ? 2 : 4);
  if (length > bytes.size() - begin)
    reading.fail(fmt::format("a header of {} bytes in a file of {}", length, bytes.size()),
                 "a header inside the file", cut);
  return {bytes.substr(begin, length), begin + length};
}

int64_t element_count(const NpyHeader& header, const Attempt& reading) {
  int64_t count = 1;
  for (const int64_t size : header.shape)
    if (__builtin_mul_overflow(count, size, &count) ||
        count > std::numeric_limits<int64_t>::max() / 16)
      reading.fail("a shape that overflows", "a smaller one", "is the file damaged?");
  return count;
}

/// The byte count that the header asks for must be there.
void require_size(int64_t size, int64_t expected, const Attempt& reading) {
  if (size != expected)
    reading.fail(fmt::format("{} bytes of numbers", size),
                 fmt::format("{} by the header", expected),
                 size < expected ? "was the file cut short?" : "is the file damaged?");
}

/// The width of a type such as "<U12"; -1 for others.
int64_t text_width(const std::string& type, const Attempt& reading) {
  if (!type.starts_with("<U")) return -1;
  int64_t width = -1;
  const char* const end = type.data() + type.size();
  // Texts of no characters need no bytes: the header alone would say how many to make.
  if (std::from_chars(type.data() + 2, end, width).ptr != end || width < 1 || width > 1 << 20)
    reading.fail(fmt::format("texts of type '{}'", type), "texts of some characters",
                 "is the file damaged?");
  return width;
}

TextColumn texts_at(const std::byte* bytes, int64_t count, int64_t width) {
  std::vector<uint32_t> points(static_cast<size_t>(width));
  const size_t each = points.size() * sizeof(uint32_t);
  std::vector<std::string> texts;
  for (int64_t n = 0; n < count; ++n) {
    std::memcpy(points.data(), bytes + static_cast<size_t>(n) * each, each);
    texts.push_back(utf8_of(points.data(), points.size()));
  }
  return TextColumn(texts);
}

/// Elements in the order of the file: a view of it where they lie on their natural boundary.
torch::Tensor numbers_at(const NpyBytes& source, size_t begin, int64_t count,
                         const std::vector<int64_t>& shape, const NpyType& type) {
  const std::byte* const bytes = source.file->data() + begin;
  if (count == 0) return torch::empty(shape, type.type);
  if (type.copied) {
    return (type.bytes == 2 ? widened<uint16_t, int32_t>(bytes, count, type.type)
                            : widened<uint32_t, int64_t>(bytes, count, type.type))
        .view(shape);
  }
  if (reinterpret_cast<uintptr_t>(bytes) % static_cast<uintptr_t>(type.bytes) != 0) {
    const torch::Tensor copy = torch::empty(shape, type.type);
    std::memcpy(copy.data_ptr(), bytes, static_cast<size_t>(count * type.bytes));
    return copy;
  }
  return torch::from_blob(
      const_cast<std::byte*>(bytes), shape, [file = source.file](void*) {},
      torch::TensorOptions().dtype(type.type));
}

}  // namespace

NpyContents read_npy(const NpyBytes& source, const Attempt& reading) {
  const auto* const start = reinterpret_cast<const char*>(source.file->data()) + source.begin;
  const auto [text, header_end] = find_header({start, source.size}, reading);
  const NpyHeader header = parse_header(text, reading);
  const int64_t count = element_count(header, reading);
  const auto size = static_cast<int64_t>(source.size - header_end);
  const size_t begin = source.begin + header_end;
  if (const int64_t width = text_width(header.type, reading); width >= 0) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(count, 4 * width, &bytes)) bytes = -1;
    require_size(size, bytes, reading);
    return {{}, texts_at(source.file->data() + begin, count, width)};
  }
  const NpyType& type = known_type(header.type, reading);
  require_size(size, count * type.bytes, reading);
  std::vector<int64_t> shape = header.shape;
  if (!header.fortran_order) return {numbers_at(source, begin, count, shape, type), {}};
  // The same bytes with the dimensions in reverse order.
  std::reverse(shape.begin(), shape.end());
  std::vector<int64_t> reversed;
  for (auto d = static_cast<int64_t>(shape.size()); d-- > 0;) reversed.push_back(d);
  return {numbers_at(source, begin, count, shape, type).permute(reversed), {}};
}

}  // namespace facet
