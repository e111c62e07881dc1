#include "facet/export/export_folder.h"

#include "facet/core/error.h"
#include "facet/core/file.h"

namespace facet {

namespace fs = std::filesystem;

ExportFolder::ExportFolder(fs::path path, std::string doing, bool force)
    : path_(std::move(path)), doing_(std::move(doing)) {
  const Attempt exporting{doing_, path_.string()};
  std::error_code error;
  const bool exists = fs::exists(path_, error);
  if (exists && !fs::is_directory(path_)) exporting.fail("a file", "a folder, new or empty");
  if (exists && !force && !fs::is_empty(path_, error))
    exporting.fail("a folder that has files", "a new or empty one", "--force writes into it");
  make(path_);
  // Files can be written there: said before the work, and in the words of the file system.
  require_writable(path_ / "model.json", doing_);
}

ExportFolder::~ExportFolder() {
  if (committed_) return;
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

fs::path ExportFolder::place(const std::string& name) {
  fs::path file = path_ / name;
  make(file.parent_path());
  if (!fs::exists(file)) made_.push_back(file);
  return file;
}

void ExportFolder::write(const std::string& name, std::string_view bytes) {
  write_text(place(name), bytes, doing_);
}

}  // namespace facet
