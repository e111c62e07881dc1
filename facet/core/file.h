// Files: whole reads, read-only mappings, and writes that either happen completely or not at all.
// A reader never sees a half-written file, and a full disk or a killed process leaves the old file
// in place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

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

  /// Flushes to the disk and renames into place.
  void commit();

 private:
  [[noreturn]] void fail(const char* call);

  std::filesystem::path path_, temporary_;
  std::string doing_;
  int descriptor_ = -1;
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

}  // namespace facet
