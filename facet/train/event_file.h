// Event files, which TensorBoard draws curves from. The few fields of the format that a curve needs
// are encoded here by hand, so that nothing of TensorFlow or protobuf is needed to build or to run.
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

  /// Flushes as far as it can; call flush() to hear of a full disk.
  ~EventFile();

  /// One point of the curve `tag`, kept in memory until there are enough of them or flush().
  void scalar(const std::string& tag, int64_t step, double value);

  /// Hands everything to the file system. After an Error what could not be written is kept, so that
  /// a later flush() goes on at the right byte.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void append_record(std::string_view event);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string unwritten_;
};

/// When a file's first and last events were written, in seconds since 1970.
struct EventSpan {
  double begin = 0, end = 0;
};

/// The spans of all event files in a folder, earliest first: when and for how long a run was
/// trained, one span each time it was started or resumed. What follows a damaged event is left out;
/// no folder is no spans.
std::vector<EventSpan> read_event_spans(const std::filesystem::path& folder);

}  // namespace facet
