#include "facet/train/run_folder.h"

#include <fcntl.h>
#include <sstream>
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

RunFolder RunFolder::create(const fs::path& path) {
  const RunFolder folder{path};
  if (fs::exists(folder.config()) || fs::exists(folder.state()) || fs::exists(folder.metrics()))
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

MetricsFile::MetricsFile(const fs::path& path, int64_t lines) : path_(path) {
  std::string kept;
  if (lines > 0) {
    std::istringstream old(read_text(path, "reading metrics"));
    std::string line;
    while (lines_ < lines && std::getline(old, line)) {
      kept += line + "\n";
      ++lines_;
    }
    if (lines_ < lines)
      throw Error({.doing = "resuming with metrics",
                   .object = path.string(),
                   .found = fmt::format("{} lines", lines_),
                   .expected = fmt::format("at least the {} of the checkpoint", lines)});
  }
  write_text(path, kept, "writing metrics");
  stream_.open(path, std::ios::app);
}

void MetricsFile::write(const Json& record) {
  stream_ << record.dump() << '\n' << std::flush;
  if (!stream_)
    throw Error({.doing = "writing metrics",
                 .object = path_.string(),
                 .found = "a failed write",
                 .expected = "space on the disk",
                 .cause = "is the disk full?"});
  ++lines_;
}

void MetricsFile::sync() {
  const int descriptor = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return;  // the file was removed; the checkpoint itself is still good
  fsync(descriptor);
  close(descriptor);
}

}  // namespace facet
