#include "facet/train/event_file.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <limits>
#include <optional>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

/// CRC-32C bit by bit, from its definition: slow, but independent of the table under test.
uint32_t reference_crc(std::string_view data) {
  uint32_t crc = 0xffffffff;
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8; }

struct Event {
  double wall_time = 0;
  std::optional<int64_t> step;
  std::string version, tag;
  std::optional<float> value;
};

/// Reads a file as TensorBoard does; anything that TensorBoard could not read fails the test.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::vector<Event> events() {
    std::vector<Event> events;
    while (!rest_.empty()) {
      const std::string_view length_bytes = rest_.substr(0, 8);
      const auto length = take<uint64_t>(rest_);
      EXPECT_EQ(take<uint32_t>(rest_), masked(reference_crc(length_bytes)));
      const std::string_view data = rest_.substr(0, length);
      EXPECT_EQ(data.size(), length);
      rest_.remove_prefix(data.size());
      EXPECT_EQ(take<uint32_t>(rest_), masked(reference_crc(data)));
      events.push_back(event(data));
      if (testing::Test::HasFailure()) break;
    }
    return events;
  }

 private:
  template <typename Number>
  static Number take(std::string_view& bytes) {
    Number number{};
    if (bytes.size() < sizeof number) {
      ADD_FAILURE() << "the file ends within a record";
      bytes = {};
      return number;
    }
    std::memcpy(&number, bytes.data(), sizeof number);
    bytes.remove_prefix(sizeof number);
    return number;
  }

  static uint64_t take_varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = take<uint8_t>(bytes);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ADD_FAILURE() << "a varint of more than ten bytes";
    return 0;
  }

  static std::string_view take_bytes(std::string_view& bytes) {
    const uint64_t length = take_varint(bytes);
    const std::string_view taken = bytes.substr(0, length);
    EXPECT_EQ(taken.size(), length);
    bytes.remove_prefix(taken.size());
    return taken;
  }

  // Keys are field << 3 | wire type: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes.
  static Event event(std::string_view data) {
    Event event;
    while (!data.empty()) {
      const uint64_t key = take_varint(data);
      if (key == (1 << 3 | 1))
        event.wall_time = take<double>(data);
      else if (key == (2 << 3 | 0))
        event.step = static_cast<int64_t>(take_varint(data));
      else if (key == (3 << 3 | 2))
        event.version = take_bytes(data);
      else if (key == (5 << 3 | 2))
        summary(take_bytes(data), event);
      else {
        ADD_FAILURE() << "unknown key " << key;
        break;
      }
    }
    return event;
  }

  static void summary(std::string_view data, Event& event) {
    EXPECT_EQ(take_varint(data), 1u << 3 | 2);
    std::string_view value = take_bytes(data);
    EXPECT_TRUE(data.empty());
    EXPECT_EQ(take_varint(value), 1u << 3 | 2);
    event.tag = take_bytes(value);
    EXPECT_EQ(take_varint(value), 2u << 3 | 5);
    event.value = take<float>(value);
    EXPECT_TRUE(value.empty());
  }

  std::string_view rest_;
};

std::vector<Event> events_of(const std::filesystem::path& path) {
  const std::string bytes = read_text(path, "test");
  return Reader(bytes).events();
}

TEST(EventFile, ReferenceChecksumAgreesWithPublishedValues) {
  EXPECT_EQ(reference_crc("123456789"), 0xe3069283u);
  EXPECT_EQ(reference_crc(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(reference_crc(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(EventFile, BeginsWithTheVersionThatTensorBoardRequires) {
  TemporaryFolder folder;
  EventFile file(folder.path());
  file.flush();
  const auto events = events_of(file.path());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_NEAR(events[0].wall_time, static_cast<double>(std::time(nullptr)), 60);
}

TEST(EventFile, IsNamedSoThatTensorBoardFindsIt) {
  TemporaryFolder folder;
  EventFile file(folder / "made" / "on demand");
  const std::string name = file.path().filename();
  EXPECT_TRUE(name.starts_with("events.out.tfevents.")) << name;
  EXPECT_NE(name.find(std::to_string(getpid())), std::string::npos) << name;
}

TEST(EventFile, ScalarsAreReadBackWithTagStepAndValue) {
  TemporaryFolder folder;
  EventFile file(folder.path());
  const int64_t largest = std::numeric_limits<int64_t>::max();
  file.scalar("train/elbo", 0, -123.25);
  file.scalar(std::string(300, 't'), largest, 1e30);
  file.scalar("negative", -1, std::numeric_limits<double>::infinity());
  file.flush();
  const auto events = events_of(file.path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[1].tag, "train/elbo");
  EXPECT_EQ(events[1].step, 0);
  EXPECT_EQ(events[1].value, -123.25f);
  EXPECT_EQ(events[2].tag, std::string(300, 't'));
  EXPECT_EQ(events[2].step, largest);
  EXPECT_EQ(events[2].value, 1e30f);
  EXPECT_EQ(events[3].step, -1);
  EXPECT_EQ(events[3].value, std::numeric_limits<float>::infinity());
}

TEST(EventFile, TheDestructorWritesEverything) {
  TemporaryFolder folder;
  std::filesystem::path path;
  {
    EventFile file(folder.path());
    path = file.path();
    for (int step = 0; step < 5000; ++step) file.scalar("loss", step, 1.0 / (1 + step));
  }
  const auto events = events_of(path);
  ASSERT_EQ(events.size(), 5001u);
  for (int step = 0; step < 5000; ++step)
    ASSERT_EQ(events[static_cast<size_t>(step + 1)].step, step);
}

TEST(EventFile, AResumedRunWritesAnotherFile) {
  TemporaryFolder folder;
  EventFile first(folder.path()), second(folder.path());
  EXPECT_NE(first.path(), second.path());
  first.scalar("loss", 1, 1);
  first.flush();
  second.flush();
  EXPECT_EQ(events_of(first.path()).size(), 2u);
  EXPECT_EQ(events_of(second.path()).size(), 1u);
}

TEST(EventFile, AFolderThatCannotBeMadeIsAnError) {
  TemporaryFolder folder;
  write_text(folder / "file", "in the way", "test");
  EXPECT_THROW(EventFile(folder / "file"), Error);
  EXPECT_THROW(EventFile(folder / "file" / "below"), Error);
}

/// Simulates a full disk: during its lifetime no file can grow past `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int);
};

TEST(EventFile, AFailedWriteIsAnErrorAndALaterFlushContinuesAtTheRightByte) {
  TemporaryFolder folder;
  EventFile file(folder.path());
  for (int step = 0; step < 100; ++step) file.scalar("loss", step, step);
  {
    const FileSizeLimit limit(1000);
    EXPECT_THROW(file.flush(), Error);
  }
  EXPECT_EQ(std::filesystem::file_size(file.path()), 1000u);
  file.flush();
  EXPECT_EQ(events_of(file.path()).size(), 101u);
}

TEST(EventSpans, AreFromTheFirstToTheLastEventOfEachFile) {
  TemporaryFolder folder;
  {
    EventFile first(folder.path()), second(folder.path());
    first.scalar("loss", 1, 1);
    first.flush();
    second.flush();
  }
  write_text(folder / "notes.txt", "not an event file", "test");
  const std::vector<EventSpan> spans = read_event_spans(folder.path());
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_LE(spans[0].begin, spans[1].begin);
  std::vector<EventSpan> expected;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().extension() != ".txt") {
      const std::vector<Event> events = events_of(entry.path());
      expected.push_back({events.front().wall_time, events.back().wall_time});
    }
  for (const EventSpan& span : spans)
    EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [&](const EventSpan& one) {
      return one.begin == span.begin && one.end == span.end;
    }));
  EXPECT_TRUE(read_event_spans(folder / "absent").empty());
}

TEST(EventSpans, EndBeforeDamage) {
  TemporaryFolder folder;
  std::filesystem::path path;
  {
    EventFile file(folder.path());
    for (int step = 0; step < 3; ++step) file.scalar("loss", step, step);
    path = file.path();
  }
  const std::string bytes = read_text(path, "test");
  const std::vector<Event> events = events_of(path);
  write_text(path, bytes.substr(0, bytes.size() - 1), "test");
  ASSERT_EQ(read_event_spans(folder.path()).size(), 1u);
  EXPECT_EQ(read_event_spans(folder.path())[0].end, events[2].wall_time) << "cut short";
  std::string damaged = bytes;
  damaged[bytes.size() - 10] = static_cast<char>(damaged[bytes.size() - 10] ^ 1);
  write_text(path, damaged, "test");
  EXPECT_EQ(read_event_spans(folder.path())[0].end, events[2].wall_time) << "a wrong checksum";
  write_text(path, "", "test");
  EXPECT_TRUE(read_event_spans(folder.path()).empty());
}

}  // namespace
}  // namespace facet
