#include "facet/data/idx.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/file.h"

namespace facet {
namespace {

constexpr const char* kReadingIdx = "reading an idx file";
constexpr size_t kMagicBytes = 4;
constexpr size_t kBytesPerSize = 4;
constexpr int kUnsignedBytes = 0x08;
constexpr int kMostDimensions = 4;

uint8_t byte_at(const std::string& bytes, size_t position) {
  return static_cast<uint8_t>(bytes[position]);
}

int64_t big_endian_size(const std::string& bytes, size_t position) {
  int64_t size = 0;
  for (size_t i = 0; i < kBytesPerSize; ++i) size = size << 8 | byte_at(bytes, position + i);
  return size;
}

/// The number of dimensions, from the first four bytes: 0, 0, type of the values, dimensions.
size_t read_magic(const std::string& bytes, const std::string& path) {
  if (bytes.size() < kMagicBytes)
    throw Error({.doing = kReadingIdx,
                 .object = path,
                 .found = fmt::format("{} bytes", bytes.size()),
                 .expected = "a header of at least 8",
                 .cause = "was the download cut short?"});
  if (bytes[0] != 0 || bytes[1] != 0)
    throw Error({.doing = kReadingIdx,
                 .object = path,
                 .found = fmt::format("a file that opens with bytes {:#04x} {:#04x}",
                                      byte_at(bytes, 0), byte_at(bytes, 1)),
                 .expected = "two zero bytes",
                 .cause = "is this an idx file at all?"});
  if (byte_at(bytes, 2) != kUnsignedBytes)
    throw Error({.doing = kReadingIdx,
                 .object = path,
                 .found = fmt::format("values of type {:#04x}", byte_at(bytes, 2)),
                 .expected = fmt::format("type {:#04x}, unsigned bytes", kUnsignedBytes),
                 .cause = "only 8-bit images and labels can be read"});
  const int dimensions = byte_at(bytes, 3);
  if (dimensions < 1 || dimensions > kMostDimensions)
    throw Error({.doing = kReadingIdx,
                 .object = path,
                 .found = fmt::format("{} dimensions", dimensions),
                 .expected = fmt::format("1 to {}", kMostDimensions),
                 .cause = "is the file damaged?"});
  return static_cast<size_t>(dimensions);
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path) {
  const std::string bytes = read_maybe_gzip(path, kReadingIdx);
  const size_t dimensions = read_magic(bytes, path.string());
  const size_t header = kMagicBytes + dimensions * kBytesPerSize;
  if (bytes.size() < header)
    throw Error({.doing = kReadingIdx,
                 .object = path.string(),
                 .found = fmt::format("{} bytes", bytes.size()),
                 .expected = fmt::format("a header of {}", header),
                 .cause = "was the download cut short?"});

  const int64_t present = static_cast<int64_t>(bytes.size() - header);
  IdxArray array;
  int64_t expected = 1;
  bool matches = true;
  for (size_t i = 0; i < dimensions; ++i) {
    const int64_t size = big_endian_size(bytes, kMagicBytes + i * kBytesPerSize);
    array.shape.push_back(size);
    // Compared by division: in a damaged header the product of the sizes can exceed 64 bits.
    matches = matches && size > 0 && expected <= present / size;
    if (matches) expected *= size;
  }
  if (!matches || expected != present)
    throw Error({.doing = kReadingIdx,
                 .object = path.string(),
                 .found = fmt::format("{} values", present),
                 .expected = fmt::format("{}, as its header says", fmt::join(array.shape, " x ")),
                 .cause = "is the file cut short or damaged?"});
  array.values.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
  return array;
}

}  // namespace facet
