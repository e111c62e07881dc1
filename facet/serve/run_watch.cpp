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

constexpr int64_t kReadAtOnce = 4 << 20;            // bytes of metrics; the next request reads on
constexpr int64_t kLongestLine = 1 << 20;           // longer ones are shown as empty records
constexpr uint64_t kMostSteps = uint64_t{1} << 53;  // in a record: differences of them are numbers
constexpr double kSilenceOfStopped = 300;           // seconds
constexpr double kMeasuredSeconds = 120;  // over which the speed of a training is measured

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
    last_ = last_with_factors_ = last_valid_ = Json::object();
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
    if (record.contains("valid")) last_valid_ = record;
    if (record.contains("phase")) last_ = std::move(record);
    starts_.push_back(start + static_cast<int64_t>(end) + 1);
  }
  note_progress();
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

/// Metrics have no times, so the speed is that at which their lines come.
void RunWatch::note_progress() {
  if (!last_.contains("phase") || !last_["phase"].is_string() || !last_.contains("step") ||
      !last_["step"].is_number_unsigned() || last_["step"].get<uint64_t>() > kMostSteps)
    return;
  const Progress now{steady_seconds(), last_["phase"].get<std::string>(),
                     last_["step"].get<int64_t>()};
  if (!progress_.empty() &&
      (progress_.back().phase != now.phase || progress_.back().step > now.step))
    progress_.clear();
  if (progress_.empty() || progress_.back().step < now.step) progress_.push_back(now);
  while (progress_.size() > 2 && now.seconds - progress_.front().seconds > kMeasuredSeconds)
    progress_.pop_front();
}

double RunWatch::steps_per_second() const {
  if (progress_.size() < 2) return 0;
  const double seconds = progress_.back().seconds - progress_.front().seconds;
  return seconds > 0 ? static_cast<double>(progress_.back().step - progress_.front().step) / seconds
                     : 0;
}

Json RunWatch::training_locked() {
  const auto lines = static_cast<int64_t>(starts_.size()) - 1;
  const double silence =
      std::min(seconds_since_change(folder_.metrics()), seconds_since_change(folder_.state()));
  // A model without metrics was copied from a run that had ended.
  const bool finished = std::filesystem::exists(folder_.evaluation()) ||
                        (lines == 0 && std::filesystem::exists(folder_.model()) &&
                         !std::filesystem::exists(folder_.state()));
  const char* state = finished                       ? "finished"
                      : silence <= kSilenceOfStopped ? "running"
                      : lines == 0                   ? "waiting"
                                                     : "stopped";
  Json training = {{"state", state}};
  training["phase"] = last_.contains("phase") ? last_["phase"] : Json();
  training["step"] = last_.contains("step") ? last_["step"] : Json(0);
  training["lines"] = lines;
  training["phase_steps"] = phases_;
  const double speed = steps_per_second();
  if (speed > 0 && training["state"] == "running" && training["phase"].is_string()) {
    training["steps_per_second"] = speed;
    const int64_t left =
        phases_.value(training["phase"].get<std::string>(), int64_t{0}) - progress_.back().step;
    training["seconds_left"] = static_cast<double>(std::max<int64_t>(left, 0)) / speed;
  }
  return training;
}

Json RunWatch::training() {
  const std::lock_guard lock(mutex_);
  read_new_lines();
  return training_locked();
}

Json RunWatch::summary() {
  const std::lock_guard lock(mutex_);
  read_new_lines();
  Json training = training_locked();
  const bool valid = last_valid_.contains("valid") && last_valid_["valid"].is_object();
  const Json& measured = valid ? last_valid_["valid"] : last_;
  const Json bound = measured.contains("elbo") ? measured["elbo"] : Json();
  return {{"state", training["state"]},
          {"training", training},
          {"factors", living()},
          {"accuracies", Json::object()},
          {"bound", {{"value", bound}, {"split", valid ? "valid" : "train"}}}};
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
