#include "facet/train/event_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/process.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWritingEvents = "writing TensorBoard events";
constexpr size_t kFlushBytes = 1 << 16;

/// The CRC table of the Castagnoli polynomial, bits reversed.
constexpr std::array<uint32_t, 256> remainders() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = remainder >> 1 ^ (remainder & 1 ? 0x82f63b78u : 0u);
    table[byte] = remainder;
  }
  return table;
}

/// CRC-32C, masked as the record format requires, so that checksums of data that contain checksums
/// are still reliable.
uint32_t masked_checksum(std::string_view data) {
  static constexpr auto table = remainders();
  uint32_t crc = ~0u;
  for (const char c : data) crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return std::rotr(~crc, 15) + 0xa282ead8u;
}

/// Little-endian bytes, on any machine.
template <typename Unsigned>
std::string fixed(Unsigned value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(Unsigned); ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}

// Protobuf: a field is its key, number << 3 | wire type, and its value.
enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes += static_cast<char>(value);
}

std::string key(uint64_t number, WireType type) { return varint(number << 3 | type); }

std::string integer_field(uint64_t number, int64_t value) {
  return key(number, kVarint) + varint(static_cast<uint64_t>(value));
}

std::string double_field(uint64_t number, double value) {
  return key(number, kFixed64) + fixed(std::bit_cast<uint64_t>(value));
}

std::string float_field(uint64_t number, float value) {
  return key(number, kFixed32) + fixed(std::bit_cast<uint32_t>(value));
}

std::string bytes_field(uint64_t number, std::string_view value) {
  return (key(number, kLengthDelimited) + varint(value.size())).append(value);
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The number that fixed() wrote at `position`.
uint64_t read_fixed64(std::string_view bytes, size_t position) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[position + i]);
  return value;
}

/// The times of a file's events, up to the first that is damaged or cut short.
std::vector<double> event_times(std::string_view bytes) {
  constexpr size_t before = 12, after = 4;  // length and its checksum; the event's checksum
  const std::string time_key = key(1, kFixed64);
  std::vector<double> times;
  while (bytes.size() >= before + after) {
    const uint64_t length = read_fixed64(bytes, 0);
    if (length > bytes.size() - before - after) break;
    const std::string_view event = bytes.substr(before, length);
    bytes.remove_prefix(before + length);
    if (event.substr(0, 1) != time_key || event.size() < 9 ||
        bytes.substr(0, after) != fixed(masked_checksum(event)))
      break;
    bytes.remove_prefix(after);
    times.push_back(std::bit_cast<double>(read_fixed64(event, 1)));
  }
  return times;
}

[[noreturn]] void fail(const fs::path& path, const char* call, int error) {
  throw Error(
      {.doing = kWritingEvents,
       .object = path.string(),
       .found = fmt::format("{} failed: {}", call, std::strerror(error)),
       .expected = "a file that can be written",
       .cause = error == ENOSPC || error == EDQUOT || error == EFBIG ? "is the disk full?" : ""});
}

}  // namespace

EventFile::EventFile(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, "creating the folder", error.value());
  const std::string name = fmt::format("events.out.tfevents.{}.{}.{}",
                                       static_cast<int64_t>(seconds_now()), host_name(), getpid());
  path_ = folder / name;
  // Two files opened within one second get different names; neither may overwrite the other.
  for (int twin = 1; descriptor_ < 0; ++twin) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor_ < 0 && errno != EEXIST) fail(path_, "open", errno);
    if (descriptor_ < 0) path_ = folder / fmt::format("{}.{}", name, twin);
  }
  append_record(double_field(1, seconds_now()) + bytes_field(3, "brain.Event:2"));
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const Error&) {
    // A destructor cannot report it; flush() does.
  }
  close(descriptor_);
}

void EventFile::scalar(const std::string& tag, int64_t step, double value) {
  const std::string point = bytes_field(1, tag) + float_field(2, static_cast<float>(value));
  const std::string summary = bytes_field(1, point);
  append_record(double_field(1, seconds_now()) + integer_field(2, step) + bytes_field(5, summary));
  if (unwritten_.size() >= kFlushBytes) flush();
}

void EventFile::append_record(std::string_view event) {
  const std::string length = fixed(static_cast<uint64_t>(event.size()));
  unwritten_ += length + fixed(masked_checksum(length));
  unwritten_ += event;
  unwritten_ += fixed(masked_checksum(event));
}

void EventFile::flush() {
  size_t done = 0;
  int error = 0;
  while (done < unwritten_.size() && error == 0) {
    const ssize_t count = write(descriptor_, unwritten_.data() + done, unwritten_.size() - done);
    if (count >= 0) done += static_cast<size_t>(count);
    if (count < 0 && errno != EINTR) error = errno;
  }
  unwritten_.erase(0, done);
  if (error != 0) fail(path_, "write", error);
}

std::vector<EventSpan> read_event_spans(const fs::path& folder) {
  std::vector<EventSpan> spans;
  if (!fs::is_directory(folder)) return spans;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind("events.out.tfevents.", 0) != 0) continue;
    const std::vector<double> times = event_times(read_text(entry.path(), "reading events"));
    if (!times.empty()) spans.push_back({times.front(), times.back()});
  }
  std::sort(spans.begin(), spans.end(),
            [](const EventSpan& a, const EventSpan& b) { return a.begin < b.begin; });
  return spans;
}

}  // namespace facet
