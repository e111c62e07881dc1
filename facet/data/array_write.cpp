#include "facet/data/array_write.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <zlib.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/npy_format.h"

namespace facet {

namespace {

/// Little-endian numbers, as zip files have them.
class Record {
 public:
  Record& u16(uint64_t value) { return put(value, 2); }
  Record& u32(uint64_t value) { return put(value, 4); }
  Record& u64(uint64_t value) { return put(value, 8); }
  Record& text(const std::string& more) {
    bytes_ += more;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& put(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
    return *this;
  }
  std::string bytes_;
};

constexpr uint64_t kVersion = 45;       // the first with 64-bit sizes
constexpr uint64_t kDate = 1 << 5 | 1;  // 1 January 1980: the same arrays give the same bytes
constexpr uint64_t kLocalChecksum = 14;

std::string descr_of(const ArrayOutline& array) {
  return array.text_width > 0 ? "<U" + std::to_string(array.text_width) : numpy_type(array.type);
}

const char* safetensors_type(torch::ScalarType type) {
  switch (type) {
    case kUInt8:
      return "U8";
    case kInt8:
      return "I8";
    case kInt16:
      return "I16";
    case kInt32:
      return "I32";
    case kInt64:
      return "I64";
    case kFloat16:
      return "F16";
    case kFloat32:
      return "F32";
    default:
      return "F64";
  }
}

/// The extra field of a local header.
std::string zip64_local(uint64_t size) {
  return Record().u16(1).u16(16).u64(size).u64(size).bytes();
}

}  // namespace

bool array_format_of(const std::filesystem::path& path, ArrayFormat& format) {
  const std::string ending = path.extension().string();
  if (ending == ".npy") return format = ArrayFormat::npy, true;
  if (ending == ".npz") return format = ArrayFormat::npz, true;
  if (ending == ".safetensors") return format = ArrayFormat::safetensors, true;
  return false;
}

uint64_t ArrayOutline::element_bytes() const {
  return text_width > 0 ? 4 * static_cast<uint64_t>(text_width)
                        : static_cast<uint64_t>(c10::elementSize(type));
}

uint64_t ArrayOutline::bytes() const {
  uint64_t total = element_bytes();
  for (const int64_t side : shape) total *= static_cast<uint64_t>(side);
  return total;
}

ArrayWriter::ArrayWriter(const std::filesystem::path& path, ArrayFormat format,
                         std::vector<ArrayOutline> arrays,
                         const std::map<std::string, std::string>& metadata,
                         const Settings& settings)
    : file_(path, settings.doing),
      format_(format),
      settings_(settings),
      arrays_(std::move(arrays)) {
  assert(format_ != ArrayFormat::npy || arrays_.size() == 1);
  places_.resize(arrays_.size());
  if (format_ == ArrayFormat::npy) place_npy();
  if (format_ == ArrayFormat::npz) place_npz(metadata);
  if (format_ == ArrayFormat::safetensors) place_safetensors(metadata);
}

void ArrayWriter::place_npy() {
  const std::string header = npy_header(descr_of(arrays_[0]), arrays_[0].shape);
  file_.write_at(0, header.data(), header.size());
  places_[0].begin = header.size();
  end_ = header.size() + arrays_[0].bytes();
}

void ArrayWriter::place_npz(const std::map<std::string, std::string>& metadata) {
  const std::string text = Json(metadata).dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto width = static_cast<int64_t>(code_points(text).size());
  arrays_.push_back({"metadata", kUInt8, {}, width});
  places_.emplace_back();
  for (size_t i = 0; i < arrays_.size(); ++i) {
    Place& place = places_[i];
    place.entry = end_;
    place.prefix = npy_header(descr_of(arrays_[i]), arrays_[i].shape);
    const uint64_t size = place.prefix.size() + arrays_[i].bytes();
    const bool large = size >= settings_.zip64_from;
    const uint64_t shown = large ? kZip64Marker : size;
    const std::string name = arrays_[i].name + ".npy", extra = large ? zip64_local(size) : "";
    const std::string header = Record()
                                   .u32(kZipLocal)
                                   .u16(kVersion)
                                   .u16(0)
                                   .u16(0)
                                   .u16(0)
                                   .u16(kDate)
                                   .u32(0)  // the checksum, at the end
                                   .u32(shown)
                                   .u32(shown)
                                   .u16(name.size())
                                   .u16(extra.size())
                                   .text(name)
                                   .text(extra)
                                   .text(place.prefix)
                                   .bytes();
    file_.write_at(end_, header.data(), header.size());
    place.begin = end_ + header.size();
    place.checksum = static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(place.prefix.data()), place.prefix.size()));
    end_ = place.begin + arrays_[i].bytes();
  }
  append_text(arrays_.size() - 1, text);
}

void ArrayWriter::place_safetensors(const std::map<std::string, std::string>& metadata) {
  // The widest types first, so that every array starts on its natural boundary.
  std::vector<size_t> order(arrays_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return arrays_[a].element_bytes() > arrays_[b].element_bytes();
  });
  uint64_t offset = 0;
  for (const size_t i : order) {
    const uint64_t size = arrays_[i].bytes();
    entries_.push_back(
        {arrays_[i].name, safetensors_type(arrays_[i].type), arrays_[i].shape, size, ""});
    places_[i].begin = offset;
    offset += size;
  }
  metadata_ = metadata;
  order_ = order;
  // The header is written when the checksums are known. They have the same length in any case.
  header_bytes_ = header_text().size();
  for (Place& place : places_) place.begin += sizeof(uint64_t) + header_bytes_;
  end_ = offset + sizeof(uint64_t) + header_bytes_;
}

std::string ArrayWriter::header_text() {
  for (size_t n = 0; n < order_.size(); ++n) entries_[n].checksum = places_[order_[n]].sum.text();
  std::string text = safetensors_header(metadata_, entries_);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

void ArrayWriter::finish_safetensors() {
  const std::string text = header_text();
  assert(text.size() == header_bytes_);
  const uint64_t length = text.size();
  file_.write_at(0, &length, sizeof length);
  file_.write_at(sizeof length, text.data(), text.size());
}

void ArrayWriter::append(size_t array, const torch::Tensor& rows) {
  assert(rows.scalar_type() == arrays_[array].type);
  const torch::Tensor plain = rows.contiguous();
  append(array, plain.data_ptr(), plain.nbytes());
}

void ArrayWriter::append(size_t array, const void* data, size_t bytes) {
  Place& place = places_[array];
  assert(place.written + bytes <= arrays_[array].bytes());
  file_.write_at(place.begin + place.written, data, bytes);
  place.written += bytes;
  if (format_ == ArrayFormat::npz)
    place.checksum =
        static_cast<uint32_t>(crc32_z(place.checksum, static_cast<const Bytef*>(data), bytes));
  if (format_ == ArrayFormat::safetensors) place.sum.add(data, bytes);
}

void ArrayWriter::append_text(size_t array, std::string_view text) {
  std::vector<uint32_t> points = code_points(text);
  points.resize(static_cast<size_t>(arrays_[array].text_width), 0);
  append(array, points.data(), points.size() * sizeof(uint32_t));
}

void ArrayWriter::finish() {
  for (size_t i = 0; i < arrays_.size(); ++i) assert(places_[i].written == arrays_[i].bytes());
  if (format_ == ArrayFormat::npz) finish_npz();
  if (format_ == ArrayFormat::safetensors) finish_safetensors();
  file_.commit();
}

void ArrayWriter::finish_npz() {
  Record central;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const Place& place = places_[i];
    file_.write_at(place.entry + kLocalChecksum, &place.checksum, sizeof place.checksum);
    const std::string name = arrays_[i].name + ".npy";
    const uint64_t size = place.prefix.size() + arrays_[i].bytes();
    const bool large = size >= settings_.zip64_from, far = place.entry >= settings_.zip64_from;
    Record fields;
    if (large) fields.u64(size).u64(size);
    if (far) fields.u64(place.entry);
    Record extra;
    if (large || far) extra.u16(1).u16(fields.bytes().size()).text(fields.bytes());
    central.u32(kZipCentral)
        .u16(kVersion)
        .u16(kVersion)
        .u16(0)
        .u16(0)
        .u16(0)
        .u16(kDate)
        .u32(place.checksum)
        .u32(large ? kZip64Marker : size)
        .u32(large ? kZip64Marker : size)
        .u16(name.size())
        .u16(extra.bytes().size())
        .u16(0)
        .u16(0)
        .u16(0)
        .u32(0)
        .u32(far ? kZip64Marker : place.entry)
        .text(name)
        .text(extra.bytes());
  }
  const uint64_t size = central.bytes().size(), count = arrays_.size();
  const bool far = end_ >= settings_.zip64_from;
  if (far) {
    const uint64_t record = end_ + size;
    central.u32(kZip64End).u64(44).u16(kVersion).u16(kVersion).u32(0).u32(0);
    central.u64(count).u64(count).u64(size).u64(end_);
    central.u32(kZip64Locator).u32(0).u64(record).u32(1);
  }
  central.u32(kZipEnd).u16(0).u16(0).u16(count).u16(count).u32(size);
  central.u32(far ? kZip64Marker : end_).u16(0);
  file_.write_at(end_, central.bytes().data(), central.bytes().size());
}

}  // namespace facet
