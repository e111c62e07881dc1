#include "facet/data/array_read.h"

#include <cstring>
#include <memory>
#include <zlib.h>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/array_write.h"
#include "facet/data/npy_format.h"
#include "facet/data/npy_read.h"

namespace facet {

namespace {

constexpr const char* kCut = "is the file damaged or cut short?";

/// A mapped file, and checked reads of its bytes.
struct Source {
  std::shared_ptr<MappedFile> file;
  Attempt reading;

  void require(uint64_t position, uint64_t size) const {
    if (position > file->size() || size > file->size() - position)
      reading.fail(fmt::format("bytes {} to {} of {}", position, position + size, file->size()),
                   "positions inside the file", kCut);
  }
  uint64_t number(uint64_t position, size_t bytes) const {
    require(position, bytes);
    uint64_t value = 0;
    std::memcpy(&value, file->data() + position, bytes);
    return value;
  }
  const Bytef* bytes(uint64_t position) const {
    return reinterpret_cast<const Bytef*>(file->data()) + position;
  }
  std::string text(uint64_t position, uint64_t size) const {
    require(position, size);
    return {reinterpret_cast<const char*>(file->data()) + position, size};
  }
};

void add_npy(const Source& source, uint64_t begin, uint64_t size, const std::string& name,
             ArrayFile& result) {
  source.require(begin, size);
  NpyContents contents = read_npy({source.file, begin, size}, source.reading);
  if (contents.numbers.defined())
    result.arrays[name] = contents.numbers;
  else
    result.texts[name] = std::move(contents.texts);
}

/// Where the zip file's table of contents is, and how many entries it has.
struct Central {
  uint64_t begin = 0, count = 0;
};

Central find_central(const Source& source) {
  constexpr uint64_t kEndSize = 22, kLongestComment = 65535;
  const uint64_t size = source.file->size();
  const uint64_t lowest = size > kEndSize + kLongestComment ? size - kEndSize - kLongestComment : 0;
  for (uint64_t at = size >= kEndSize ? size - kEndSize + 1 : 0; at-- > lowest;) {
    if (source.number(at, 4) != kZipEnd) continue;
    const Central plain{source.number(at + 16, 4), source.number(at + 10, 2)};
    if (plain.begin != kZip64Marker) return plain;
    if (at < 20 || source.number(at - 20, 4) != kZip64Locator) break;
    const uint64_t record = source.number(at - 12, 8);
    if (source.number(record, 4) != kZip64End) break;
    return {source.number(record + 48, 8), source.number(record + 32, 8)};
  }
  source.reading.fail("no table of contents", "an .npz, which is a zip file", kCut);
}

/// The numbers of a central entry that may stand in its 64-bit extra field.
struct ArchiveEntry {
  uint64_t size = 0, position = 0;
};

ArchiveEntry entry_of(const Source& source, uint64_t at, uint64_t extra, uint64_t extra_size) {
  ArchiveEntry entry{source.number(at + 24, 4), source.number(at + 42, 4)};
  for (uint64_t i = 0; i + 4 <= extra_size;) {
    const uint64_t length = source.number(extra + i + 2, 2);
    if (source.number(extra + i, 2) == 1) {
      uint64_t field = extra + i + 4;
      if (entry.size == kZip64Marker) {
        entry.size = source.number(field, 8);
        field += 16;  // and the compressed size, which is the same
      }
      if (entry.position == kZip64Marker) entry.position = source.number(field, 8);
    }
    i += 4 + length;
  }
  return entry;
}

void read_npz(const Source& source, ArrayFile& result) {
  const Central central = find_central(source);
  uint64_t at = central.begin, bytes = 0;
  for (uint64_t i = 0; i < central.count; ++i) {
    if (source.number(at, 4) != kZipCentral)
      source.reading.fail("a table of contents that breaks off",
                          fmt::format("{} entries", central.count), kCut);
    const uint64_t name_size = source.number(at + 28, 2), extra = source.number(at + 30, 2);
    std::string name = source.text(at + 46, name_size);
    if (source.number(at + 10, 2) != 0)
      source.reading.fail(fmt::format("'{}' compressed", name), "arrays without compression",
                          "numpy.savez writes them, numpy.savez_compressed does not");
    const ArchiveEntry entry = entry_of(source, at, at + 46 + name_size, extra);
    source.require(entry.position, 30);
    source.require(bytes, entry.size);  // entries that share bytes could hold any amount together
    bytes += entry.size;
    const uint64_t checksum = source.number(at + 16, 4);
    const uint64_t begin = entry.position + 30 + source.number(entry.position + 26, 2) +
                           source.number(entry.position + 28, 2);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    add_npy(source, begin, entry.size, name, result);
    if (const auto found = crc32_z(0, source.bytes(begin), entry.size); found != checksum)
      source.reading.fail(fmt::format("'{}' with checksum {:08x}", name, found),
                          fmt::format("{:08x}", checksum), kCut);
    at += 46 + name_size + extra + source.number(at + 32, 2);
  }
  const auto metadata = result.texts.find("metadata");
  if (metadata == result.texts.end() || metadata->second.size() != 1) return;
  const Json json = Json::parse(metadata->second[0], nullptr, /*allow_exceptions=*/false);
  if (json.is_object())
    for (const auto& [key, value] : json.items())
      if (value.is_string()) result.metadata[key] = value.get<std::string>();
}

}  // namespace

ArrayFile read_arrays(const std::filesystem::path& path, const std::string& doing) {
  const Attempt reading{doing, path.string()};
  ArrayFormat format;
  if (!array_format_of(path, format))
    reading.fail(fmt::format("the ending '{}'", path.extension().string()),
                 ".npy, .npz or .safetensors");
  ArrayFile result;
  if (format == ArrayFormat::safetensors) {
    TensorFile file = read_safetensors(path, doing);
    result.arrays = std::move(file.tensors);
    result.metadata = std::move(file.metadata);
    return result;
  }
  const Source source{std::make_shared<MappedFile>(path, doing), reading};
  if (format == ArrayFormat::npy)
    add_npy(source, 0, source.file->size(), "", result);
  else
    read_npz(source, result);
  return result;
}

}  // namespace facet
