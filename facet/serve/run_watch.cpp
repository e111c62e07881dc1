#include "facet/serve/run_watch.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sys/stat.h>

#include "facet/core/json.h"
#include "facet/serve/message.h"
#include "facet/train/config.h"

namespace facet {

namespace {

constexpr int64_t kReadAtOnce = 4 << 20;   // bytes of metrics; the next request reads on
constexpr int64_t kLongestLine = 1 << 20;  // longer ones are shown as empty records
constexpr double kSilenceOfStopped = 300;  // seconds

double seconds_since_change(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return 1e12;
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return now - static_cast<double>(status.st_mtim.tv_sec);
}

std::string read_part(const std::filesystem::path& path, int64_t start, int64_t size) {
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(start);
  std::string bytes(static_cast<size_t>(size), '\0');
  stream.read(bytes.data(), size);
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return bytes;
}

/// An object in any case: what cannot be read is an empty one. Values that are nested too deeply
/// are left out: copying and writing them would take as deep a stack.
Json parse_line(const std::string& line) {
  const auto is_shallow = [](int depth, Json::parse_event_t, Json&) {
    return depth <= kDeepestJson;
  };
  const Json record = Json::parse(line, is_shallow, /*allow_exceptions=*/false);
  return record.is_object() ? record : Json::object();
}

Json phase_steps(const RunFolder& folder) {
  const TrainOptions train = read_saved_config(folder.config()).train;
  return {{"pretrain", train.pretrain.steps},
          {"initialise", train.initialise.steps},
          {"joint", train.joint.steps}};
}

}  // namespace

RunWatch::RunWatch(const RunFolder& folder) : folder_(folder), phases_(phase_steps(folder)) {}

void RunWatch::read_new_lines() {
  struct stat status {};
  const bool there = stat(folder_.metrics().c_str(), &status) == 0;
  const int64_t size = there ? static_cast<int64_t>(status.st_size) : 0;
  if (status.st_ino != inode_ || size < starts_.back()) {  // a resumed run writes a new file
    starts_ = {0};
    last_ = last_with_factors_ = Json::object();
    inode_ = status.st_ino;
  }
  if (size <= starts_.back()) return;
  const int64_t start = starts_.back();
  const std::string bytes =
      read_part(folder_.metrics(), start, std::min(size - start, kReadAtOnce));
  size_t begin = 0;
  for (size_t end = 0; (end = bytes.find('\n', begin)) != std::string::npos; begin = end + 1) {
    Json record = parse_line(bytes.substr(begin, end - begin));
    if (record.contains("factors")) last_with_factors_ = record;
    if (record.contains("phase")) last_ = std::move(record);
    starts_.push_back(start + static_cast<int64_t>(end) + 1);
  }
  // A line that does not fit is passed over.
  if (begin == 0 && static_cast<int64_t>(bytes.size()) == kReadAtOnce)
    starts_.back() = start + kReadAtOnce;
}

Json RunWatch::records(int64_t first, int64_t last) const {
  const auto start = [&](int64_t line) { return starts_[static_cast<size_t>(line)]; };
  const std::string bytes = read_part(folder_.metrics(), start(first), start(last) - start(first));
  Json list = Json::array();
  for (int64_t line = first; line < last; ++line) {
    const int64_t size = start(line + 1) - start(line);
    const auto offset = std::min(static_cast<size_t>(start(line) - start(first)), bytes.size());
    Json record = {{"line", line + 1}};
    if (size <= kLongestLine)
      record.update(parse_line(bytes.substr(offset, static_cast<size_t>(size))));
    list.push_back(std::move(record));
  }
  return list;
}

Json RunWatch::living() const {
  Json list = Json::array();
  if (!last_with_factors_.contains("factors") || !last_with_factors_["factors"].is_array())
    return list;
  for (const Json& factor : last_with_factors_["factors"])
    if (factor.is_object() && factor.contains("name") && factor.contains("living"))
      list.push_back({{"name", factor["name"]}, {"living", factor["living"]}});
  return list;
}

Json RunWatch::training_locked() {
  const auto lines = static_cast<int64_t>(starts_.size()) - 1;
  const bool finished = std::filesystem::exists(folder_.evaluation());
  const double silence =
      std::min(seconds_since_change(folder_.metrics()), seconds_since_change(folder_.state()));
  const char* state = finished                       ? "finished"
                      : silence <= kSilenceOfStopped ? "running"
                      : lines == 0                   ? "waiting"
                                                     : "stopped";
  Json training = {{"state", state}};
  training["phase"] = last_.contains("phase") ? last_["phase"] : Json();
  training["step"] = last_.contains("step") ? last_["step"] : Json(0);
  training["lines"] = lines;
  training["phase_steps"] = phases_;
  return training;
}

Json RunWatch::training() {
  const std::lock_guard lock(mutex_);
  read_new_lines();
  return training_locked();
}

Json RunWatch::metrics(int64_t after) {
  const std::lock_guard lock(mutex_);
  read_new_lines();
  const auto lines = static_cast<int64_t>(starts_.size()) - 1;
  const bool restarted = after > lines;
  const int64_t first = restarted ? 0 : after;
  int64_t last = first;
  while (last < lines && last - first < kMostRecords &&
         starts_[static_cast<size_t>(last)] - starts_[static_cast<size_t>(first)] <
             kMostRecordBytes)
    ++last;
  return {{"lines", lines},
          {"after", first},
          {"more", last < lines},
          {"restarted", restarted},
          {"records", records(first, last)},
          {"training", training_locked()},
          {"living", living()}};
}

}  // namespace facet
