// A folder that an export fills. It is new or empty unless the user says otherwise, and what an
// export that fails has made is removed again: at once, or, if the process was killed, by the next
// export to that folder. For this a temporary file in it lists what is being made.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facet/core/file.h"

namespace facet {

class ExportFolder {
 public:
  /// Makes the folder. Throws an Error that begins with `doing` if it has files and `force` is
  /// false, or if it cannot be made.
  ExportFolder(std::filesystem::path path, std::string doing, bool force);
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;
  /// Without commit(), removes what was made.
  ~ExportFolder();

  /// Writes a file; `name` may have folders in it, which are made.
  void write(const std::string& name, std::string_view bytes);
  /// The path of a file that the caller is about to write.
  std::filesystem::path place(const std::string& name);
  void commit();

  /// Removes what an export to `folder` has made whose process was killed.
  static void remove_unfinished(const std::filesystem::path& folder);

 private:
  void make(const std::filesystem::path& folder);

  std::filesystem::path path_;
  std::string doing_;
  std::vector<std::filesystem::path> made_;  ///< files and folders that were not there before
  std::optional<AtomicFile> unfinished_;     ///< lists the files of a folder that had none
  bool committed_ = false;
};

}  // namespace facet
