#include "facet/train/run_folder.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"

namespace facet {

namespace fs = std::filesystem;

RunFolder RunFolder::of(const fs::path& path) {
  const bool file = path.extension() == ".safetensors" && !fs::is_directory(path);
  return {file ? path.parent_path() : path};
}

bool RunFolder::has_checkpoint() const {
  return fs::exists(state()) || fs::exists(previous_state());
}

fs::path RunFolder::newest_state() const {
  return fs::exists(state()) || !fs::exists(previous_state()) ? state() : previous_state();
}

bool RunFolder::never_saved() const {
  const bool begun = fs::exists(config()) || fs::exists(metrics());
  return begun && !has_checkpoint() && !fs::exists(model()) && !fs::exists(evaluation());
}

void RunFolder::remove_temporary_files() const {
  for (const fs::path& folder : {path, progress()}) remove_left_overs(folder, LeftOvers::of_all);
}

RunFolder RunFolder::create(const fs::path& path) {
  const RunFolder folder{path};
  const bool begun =
      fs::exists(folder.config()) || fs::exists(folder.metrics()) || folder.has_checkpoint();
  if (begun && !folder.never_saved())
    throw Error({.doing = "starting a run in",
                 .object = path.string(),
                 .found = "an existing run",
                 .expected = "a new or empty folder",
                 .cause = "--resume continues it; --out names another folder"});
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path))
    throw Error({.doing = "starting a run in",
                 .object = path.string(),
                 .found = error ? error.message() : "a file",
                 .expected = "a folder"});
  if (folder.never_saved()) fs::remove_all(folder.events(), error);
  return folder;
}

RunFolder RunFolder::open(const fs::path& path) {
  const RunFolder folder{path};
  if (!fs::exists(folder.config()))
    throw Error({.doing = "opening a run",
                 .object = path.string(),
                 .found = "no config.json in it",
                 .expected = "a folder made by 'facet train --out'",
                 .cause = "is the path spelled right?"});
  if (is_fit_run(path))
    throw Error({.doing = "opening a run",
                 .object = path.string(),
                 .found = "a mixture of vectors made by 'facet fit', which has no decoder",
                 .expected = "a run of 'facet train'",
                 .cause = "facet predict, eval, info and report read it"});
  return folder;
}

bool is_fit_run(const fs::path& path) {
  const fs::path config = RunFolder::of(path).config();
  if (!fs::exists(config)) return false;
  // Only the config of a fit names vectors; one that does not parse is refused by who reads it.
  const Json json = Json::parse(read_text(config, "opening a run"), nullptr, false, true);
  return json.is_object() && json.contains("vectors");
}

namespace {

/// The first `lines` lines of metrics; nothing where there are fewer. One without an end is none.
std::optional<std::string> first_lines(const fs::path& path, int64_t lines) {
  std::string text = lines > 0 ? read_text(path, "reading metrics") : "";
  size_t end = 0;
  for (int64_t line = 0; line < lines; ++line) {
    const size_t newline = text.find('\n', end);
    if (newline == std::string::npos) return {};
    end = newline + 1;
  }
  text.resize(end);
  return text;
}

[[noreturn]] void fail_metrics(const fs::path& path, const std::string& found, int64_t lines) {
  Attempt{"resuming with metrics", path.string()}.fail(
      found, fmt::format("the {} lines of the checkpoint", lines), "was the file changed or cut?");
}

}  // namespace

void require_metrics(const fs::path& path, const MetricsMark& mark) {
  const auto kept = first_lines(path, mark.lines);
  if (!kept) fail_metrics(path, "fewer lines", mark.lines);
  if (!mark.checksum.empty() && checksum_of(kept->data(), kept->size()) != mark.checksum)
    fail_metrics(path, "other lines", mark.lines);
}

MetricsFile::MetricsFile(const fs::path& path, int64_t lines) : path_(path), lines_(lines) {
  const auto kept = first_lines(path, lines);
  if (!kept) fail_metrics(path, "fewer lines", lines);
  checksum_.add(kept->data(), kept->size());
  write_text(path, *kept, "writing metrics");
  descriptor_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail("open");
}

MetricsFile::~MetricsFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void MetricsFile::fail(const char* call) const {
  const int error = errno;
  Attempt{"writing metrics", path_.string()}.fail(
      fmt::format("{} failed: {}", call, std::strerror(error)), "a file that can be written",
      error == ENOSPC || error == EDQUOT || error == EFBIG ? "is the disk full?" : "");
}

void MetricsFile::write(const Json& record) {
  const std::string line = record.dump() + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = ::write(descriptor_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write");
    done += static_cast<size_t>(count);
  }
  checksum_.add(line.data(), line.size());
  ++lines_;
}

void MetricsFile::sync() {
  if (fsync(descriptor_) != 0) fail("fsync");
}

}  // namespace facet
