#include "facet/export/export_folder.h"

#include <sstream>

#include "facet/core/error.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

constexpr const char* kUnfinished = "unfinished";

}  // namespace

ExportFolder::ExportFolder(fs::path path, std::string doing, bool force)
    : path_(std::move(path)), doing_(std::move(doing)) {
  const Attempt exporting{doing_, path_.string()};
  std::error_code error;
  remove_unfinished(path_);
  const bool exists = fs::exists(path_, error);
  if (exists && !fs::is_directory(path_)) exporting.fail("a file", "a folder, new or empty");
  if (exists && !force && !fs::is_empty(path_, error))
    exporting.fail("a folder that has files", "a new or empty one", "--force writes into it");
  make(path_);
  if (fs::is_empty(path_, error)) unfinished_.emplace(path_ / kUnfinished, doing_);
  // Files can be written there: said before the work, and in the words of the file system.
  require_writable(path_ / "model.json", doing_);
}

ExportFolder::~ExportFolder() {
  if (committed_) return;
  unfinished_.reset();
  std::error_code ignored;
  for (auto each = made_.rbegin(); each != made_.rend(); ++each) fs::remove(*each, ignored);
}

void ExportFolder::make(const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::exists(folder, error)) return;
  make(folder.parent_path());
  fs::create_directory(folder, error);
  if (error) Attempt{doing_, path_.string()}.fail(error.message(), "a folder that can be made");
  made_.push_back(folder);
}

void ExportFolder::commit() {
  unfinished_.reset();
  committed_ = true;
}

void ExportFolder::remove_unfinished(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::path& list : left_overs_of(folder / kUnfinished)) {
    std::istringstream names(read_text(list, "reading what a killed export has made"));
    for (std::string name; std::getline(names, name);) {
      const fs::path within = fs::path(name).lexically_normal().parent_path();
      if (within.is_absolute() || within.string().starts_with("..")) continue;  // not of ours
      fs::remove(folder / name, ignored);
      remove_left_overs(folder / within, LeftOvers::of_the_dead);
      if (!within.empty()) fs::remove(folder / within, ignored);
    }
    remove_left_overs(folder, LeftOvers::of_the_dead);  // the list itself, too
  }
}

fs::path ExportFolder::place(const std::string& name) {
  if (unfinished_) unfinished_->write(name + "\n");
  fs::path file = path_ / name;
  make(file.parent_path());
  if (!fs::exists(file)) made_.push_back(file);
  return file;
}

void ExportFolder::write(const std::string& name, std::string_view bytes) {
  write_text(place(name), bytes, doing_);
}

}  // namespace facet
