#include "facet/core/file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <zlib.h>

#include <fmt/format.h>

#include "facet/core/checksum.h"
#include "facet/core/cut_files.h"
#include "facet/core/error.h"
#include "facet/core/process.h"
#include "facet/core/temporary_path.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

/// Of the names of temporary files, after the number of the process and its space.
constexpr std::string_view kTemporary = ".facet.tmp";

/// The process space in few letters, for file names.
const std::string& space_letters() {
  static const std::string letters = [] {
    const std::string space = process_space();
    return checksum_of(space.data(), space.size()).substr(0, 8);
  }();
  return letters;
}

struct TemporaryName {
  pid_t process = 0;  ///< 0: not a temporary file of ours
  std::string space;

  /// NAME.PROCESS-SPACE.facet.tmp
  explicit TemporaryName(std::string_view name) {
    if (!name.ends_with(kTemporary)) return;
    name.remove_suffix(kTemporary.size());
    const size_t dot = name.rfind('.'), dash = name.rfind('-');
    if (dot == std::string_view::npos || dash == std::string_view::npos || dash < dot) return;
    const char* const end = name.data() + dash;
    pid_t number = 0;
    const auto read = std::from_chars(name.data() + dot + 1, end, number);
    if (read.ec != std::errc() || read.ptr != end) return;
    process = number;
    space = name.substr(dash + 1);
  }
};

bool is_left_over(const fs::directory_entry& entry, LeftOvers which) {
  const TemporaryName name(entry.path().filename().string());
  if (name.process <= 0) return false;
  if (name.space == space_letters()) return !process_lives(name.process);
  if (which == LeftOvers::of_all) return true;
  std::error_code error;
  const auto changed = fs::last_write_time(entry.path(), error);
  return !error && fs::file_time_type::clock::now() - changed > std::chrono::hours(24);
}

}  // namespace

fs::path temporary_path(const fs::path& path) {
  fs::path temporary = path;
  temporary += fmt::format(".{}-{}{}", getpid(), space_letters(), kTemporary);
  return temporary;
}

void remove_left_overs(const fs::path& folder, LeftOvers which) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (is_left_over(*entry, which)) unlink(entry->path().c_str());
}

std::vector<fs::path> left_overs_of(const fs::path& path) {
  const std::string begins = path.filename().string() + ".";
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with(begins) &&
        is_left_over(*entry, LeftOvers::of_the_dead))
      found.push_back(entry->path());
  return found;
}

AtomicFile::AtomicFile(fs::path path, std::string doing)
    : path_(std::move(path)), doing_(std::move(doing)) {
  std::error_code unknown;
  // The file that a link leads to is written, and not the link, also where there is none yet.
  if (fs::is_symlink(path_, unknown)) {
    const fs::path target = path_.parent_path() / fs::read_symlink(path_, unknown);
    if (const fs::path real = fs::weakly_canonical(target, unknown); !unknown) path_ = real;
  }
  if (const fs::file_status status = fs::status(path_, unknown);
      !unknown && fs::is_other(status))  // a rename would put a file in its place
    throw Error({.doing = doing_,
                 .object = path_.string(),
                 .found = "a device or a pipe",
                 .expected = "the name of a file"});
  temporary_ = temporary_path(path_);
  descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("open");
  pending_ = true;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (pending_) unlink(temporary_.c_str());
}

int AtomicFile::descriptor() {
  if (descriptor_ >= 0) return descriptor_;
  descriptor_ = open(temporary_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0 || lseek(descriptor_, end_, SEEK_SET) < 0) fail("open");
  return descriptor_;
}

void AtomicFile::close() {
  if (descriptor_ < 0) return;
  if (fsync(descriptor_) != 0) fail("fsync");
  end_ = lseek(descriptor_, 0, SEEK_CUR);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("close");
}

void AtomicFile::fail(const char* call) {
  const int error = errno;
  const char* cause = error == ENOSPC || error == EDQUOT || error == EFBIG
                          ? "is the disk full? The old file, if any, is untouched"
                      : error == ENOENT ? "does the folder exist?"
                                        : "";
  throw Error({.doing = doing_,
               .object = path_.string(),
               .found = fmt::format("{} failed: {}", call, std::strerror(error)),
               .expected = "a file that can be written",
               .cause = cause});
}

void AtomicFile::write(const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor(), next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    next += written;
    size -= static_cast<size_t>(written);
  }
}

void AtomicFile::write_at(uint64_t position, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = pwrite(descriptor(), next, size, static_cast<off_t>(position));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    next += written;
    position += static_cast<uint64_t>(written);
    size -= static_cast<size_t>(written);
  }
}

void AtomicFile::read_at(uint64_t position, void* data, size_t size) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t taken = pread(descriptor(), next, size, static_cast<off_t>(position));
    if (taken < 0 && errno == EINTR) continue;
    if (taken == 0) errno = EIO;  // the file was cut while we wrote it
    if (taken <= 0) fail("read");
    next += taken;
    position += static_cast<uint64_t>(taken);
    size -= static_cast<size_t>(taken);
  }
}

void AtomicFile::commit_keeping(const fs::path& older) {
  close();
  const bool kept = rename(path_.c_str(), older.c_str()) == 0;
  if (!kept && errno != ENOENT) fail("rename");
  try {
    commit();
  } catch (const Error&) {
    if (kept) rename(older.c_str(), path_.c_str());
    throw;
  }
}

void AtomicFile::commit() {
  close();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  pending_ = false;
  // The rename itself must survive a power failure: the folder is flushed too, if possible.
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  if (const int folder_descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      folder_descriptor >= 0) {
    const bool failed = fsync(folder_descriptor) != 0 && errno == EIO;
    ::close(folder_descriptor);
    errno = EIO;
    if (failed) fail("fsync of its folder");
  }
}

void commit_together(const std::vector<AtomicFile*>& files) {
  for (AtomicFile* file : files) file->close();  // a full disk shows here, before any is in place
  for (size_t done = 0; done < files.size(); ++done) {
    try {
      files[done]->commit();
    } catch (...) {
      for (size_t before = 0; before < done; ++before) unlink(files[before]->path().c_str());
      throw;
    }
  }
}

void require_writable(const fs::path& path, const std::string& doing) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  // A parent that is a file says so when the file itself is opened.
  if (fs::is_directory(path))
    throw Error({.doing = doing,
                 .object = path.string(),
                 .found = "a folder",
                 .expected = "the name of a file"});
  remove_left_overs(path.has_parent_path() ? path.parent_path() : fs::path("."),
                    LeftOvers::of_the_dead);
  AtomicFile(path, doing);
}

ScratchFolder::ScratchFolder(const std::string& name) {
  std::string made = (fs::temp_directory_path() / (name + "-XXXXXX")).string();
  if (mkdtemp(made.data()) == nullptr)
    Attempt{"making a new folder in", fs::temp_directory_path().string()}.fail(
        std::strerror(errno), "a folder that can be written");
  path_ = made;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_text(const fs::path& path, std::string_view text, const std::string& doing) {
  AtomicFile file(path, doing);
  file.write(text);
  file.commit();
}

namespace {

/// Of what has no size to begin with: pipes and devices, which may never end.
constexpr size_t kMostStreamed = size_t{256} << 20;

class ReadDescriptor {
 public:
  explicit ReadDescriptor(const fs::path& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ReadDescriptor(const ReadDescriptor&) = delete;
  ReadDescriptor& operator=(const ReadDescriptor&) = delete;
  ~ReadDescriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  bool is_open() const { return descriptor_ >= 0; }
  /// Of the file, or 0 if it is none.
  size_t size() const {
    struct stat status {};
    const bool regular = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
    return regular ? static_cast<size_t>(status.st_size) : 0;
  }
  /// 0 at the end, and less than 0 with `errno` if the bytes cannot be read.
  ssize_t read_some(char* bytes, size_t most) const {
    ssize_t got = 0;
    do {
      got = read(descriptor_, bytes, most);
    } while (got < 0 && errno == EINTR);
    return got;
  }

 private:
  int descriptor_;
};

}  // namespace

std::string read_text(const fs::path& path, const std::string& doing) {
  Fault unreadable{.doing = doing,
                   .object = path.string(),
                   .found = fs::is_directory(path) ? "a folder" : "no readable file",
                   .expected = "a file",
                   .cause = "is the path spelled right?"};
  if (fs::is_directory(path)) throw Error(unreadable);
  const ReadDescriptor file(path);
  if (!file.is_open()) throw Error(unreadable);
  const size_t size = file.size();
  std::string text;
  size_t used = 0;
  while (true) {
    if (used == text.size()) text.resize(std::max({size + 1, 2 * used, size_t{1} << 16}));
    const ssize_t got = file.read_some(text.data() + used, text.size() - used);
    if (got < 0)
      throw Error({.doing = doing,
                   .object = path.string(),
                   .found = fmt::format("'{}' after {} bytes", std::strerror(errno), used)});
    if (got == 0) break;
    used += static_cast<size_t>(got);
    if (used > std::max(size, kMostStreamed))
      throw Error({.doing = doing,
                   .object = path.string(),
                   .found = fmt::format("more than {} MiB of a pipe or a device, or of a file "
                                        "that grows",
                                        kMostStreamed >> 20),
                   .expected = "an end"});
  }
  text.resize(used);
  return text;
}

std::string read_maybe_gzip(const fs::path& path, const std::string& doing) {
  std::string packed = read_text(path, doing);
  if (packed.size() < 2 || packed[0] != '\x1f' || packed[1] != '\x8b') return packed;

  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string plain;
  std::vector<char> chunk(1 << 20);
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    status = inflate(&stream, Z_NO_FLUSH);
    plain.append(chunk.data(), chunk.size() - stream.avail_out);
    // Concatenated gzip files have several members; they decompress to one text.
    if (status == Z_STREAM_END && stream.avail_in > 0) status = inflateReset(&stream);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END)
    throw Error({.doing = doing,
                 .object = path.string(),
                 .found = fmt::format("a gzip stream that breaks off after {} decompressed bytes",
                                      plain.size()),
                 .expected = "a complete gzip file",
                 .cause = "was the download cut short?"});
  return plain;
}

namespace {

/// Where files are mapped now, by their first byte: what may be released, as other memory may not.
struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, size_t> sizes;
};

Mappings& mappings() {
  static Mappings all;
  return all;
}

}  // namespace

MappedFile::MappedFile(const fs::path& path, const std::string& doing) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  const bool regular =
      descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular) {
    if (descriptor >= 0) close(descriptor);
    throw Error({.doing = doing,
                 .object = path.string(),
                 .found = fs::is_directory(path) ? "a folder" : "no readable file",
                 .expected = "a file",
                 .cause = "is the path spelled right?"});
  }
  size_ = static_cast<size_t>(status.st_size);
  if (size_ > 0) {
    void* address = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      close(descriptor);
      throw Error(
          {.doing = doing, .object = path.string(), .found = "a file that mmap cannot map"});
    }
    data_ = static_cast<const std::byte*>(address);
    const std::lock_guard lock(mappings().mutex);
    mappings().sizes[data_] = size_;
    note_mapping(data_, size_, path);
  }
  close(descriptor);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  {
    const std::lock_guard lock(mappings().mutex);
    mappings().sizes.erase(data_);
    forget_mapping(data_);
  }
  munmap(const_cast<std::byte*>(data_), size_);
}

void release_pages(const void* data, size_t size) {
  const auto* const first = static_cast<const std::byte*>(data);
  const std::lock_guard lock(mappings().mutex);
  auto mapping = mappings().sizes.upper_bound(first);
  if (mapping == mappings().sizes.begin()) return;
  --mapping;
  const auto offset = static_cast<size_t>(first - mapping->first);
  if (offset >= mapping->second || size > mapping->second - offset) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page, end = (offset + size) / page * page;
  if (begin < end)
    madvise(const_cast<std::byte*>(mapping->first) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace facet
