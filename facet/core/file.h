// Files: whole reads, read-only mappings, and writes that either happen completely or not at all.
// A reader never sees a half-written file, and a full disk or a killed process leaves the old file
// in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace facet {

/// Writes to a temporary file beside `path`; commit() renames it to `path`. Without commit() the
/// destructor removes the temporary file and `path` stays as it was.
class AtomicFile {
 public:
  /// Error messages begin with `doing`, such as "saving a model".
  AtomicFile(std::filesystem::path path, std::string doing);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// Writes at a position of the file, for who does not know at first what comes first. write()
  /// goes on where the last write() ended.
  void write_at(uint64_t position, const void* data, size_t size);
  /// Reads back what was written.
  void read_at(uint64_t position, void* data, size_t size);

  /// Flushes to the disk and closes; whatever is called next opens the file again. For many files
  /// that appear together.
  void close();
  /// Flushes to the disk and renames into place.
  void commit();
  /// The same, and the file that was there before goes on as `older`. A kill between the two
  /// renames leaves only that one; so readers look for it too.
  void commit_keeping(const std::filesystem::path& older);

  const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] void fail(const char* call);
  int descriptor();

  std::filesystem::path path_, temporary_;
  std::string doing_;
  int descriptor_ = -1;
  off_t end_ = 0;  ///< where write() goes on after close()
  bool pending_ = false;
};

/// commit() of all these files: if one cannot be renamed, those before it are removed, so that no
/// part of a set is left.
void commit_together(const std::vector<AtomicFile*>& files);

/// Makes the folders above `path` that do not exist, removes what killed processes have left there,
/// and checks that a file can be written.
/// Throws an Error that begins with `doing`; for commands that would else work for hours first.
void require_writable(const std::filesystem::path& path, const std::string& doing);

/// Whose temporary files remove_left_overs() takes for left over.
enum class LeftOvers {
  of_the_dead,  ///< those of processes of this machine that have ended, and any older than a day
  of_all,       ///< those of every process but ourselves and others of this machine: for folders
                ///< that only we write in
};

/// Removes the temporary files of AtomicFiles that killed processes have left in a folder.
void remove_left_overs(const std::filesystem::path& folder, LeftOvers which);

/// The temporary files of AtomicFiles for `path` that killed processes of this machine have left.
std::vector<std::filesystem::path> left_overs_of(const std::filesystem::path& path);

/// A new folder among the system's temporary ones, which is removed with all in it.
class ScratchFolder {
 public:
  /// Its name begins with `name`.
  explicit ScratchFolder(const std::string& name);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// AtomicFile in one call.
void write_text(const std::filesystem::path& path, std::string_view text, const std::string& doing);

/// The whole file. Throws an Error that begins with `doing` if it cannot be read.
std::string read_text(const std::filesystem::path& path, const std::string& doing);

/// The whole file, decompressed if it is gzip. Throws an Error if the gzip stream is damaged or cut
/// short.
std::string read_maybe_gzip(const std::filesystem::path& path, const std::string& doing);

/// A read-only view of a file's bytes, which are paged in on use.
class MappedFile {
 public:
  MappedFile(const std::filesystem::path& path, const std::string& doing);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Gives whole pages of a mapped file back to the system, so that a pass over a large file does not
/// fill the memory of the process; they are read again on their next use. Does nothing for bytes
/// that are not of a MappedFile.
void release_pages(const void* data, size_t size);

}  // namespace facet
