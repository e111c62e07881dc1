// A folder that an export fills. It is new or empty unless the user says otherwise, and what an
// export that fails has made is removed again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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
  void commit() { committed_ = true; }

 private:
  void make(const std::filesystem::path& folder);

  std::filesystem::path path_;
  std::string doing_;
  std::vector<std::filesystem::path> made_;  ///< files and folders that were not there before
  bool committed_ = false;
};

}  // namespace facet
