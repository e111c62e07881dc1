// TensorBoard event files. The few fields of the format that curves need are encoded here by hand,
// so that neither TensorFlow nor protobuf is needed to build or to run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace facet {

/// Writes scalars to a new file in a folder. A resumed run opens another file in the same folder;
/// TensorBoard merges them by step.
class EventFile {
 public:
  /// Creates `events.out.tfevents.<seconds>.<hostname>.<pid>` in `folder`, and the folder if
  /// needed.
  explicit EventFile(const std::filesystem::path& folder);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Flushes, ignoring errors; call flush() to get them.
  ~EventFile();

  /// Adds a point to the curve `tag`. Points are buffered until there are enough or until flush().
  void scalar(const std::string& tag, int64_t step, double value);

  /// Writes the buffer to the file. After an Error the unwritten part is kept, so that a later
  /// flush() continues at the right byte.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void append_record(std::string_view event);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string unwritten_;
};

/// The times of a file's first and last events, in seconds since 1970.
struct EventSpan {
  double begin = 0, end = 0;
};

/// The spans of all event files in a folder, earliest first: one for each time a run was started or
/// resumed. Events after a damaged one are ignored; a missing folder has no spans.
std::vector<EventSpan> read_event_spans(const std::filesystem::path& folder);

}  // namespace facet
