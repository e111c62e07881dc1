// A library that a test loads before all others (LD_PRELOAD): it counts the calls of open, write,
// fsync, rename and close on files below a folder, and makes one of them fail, or kills the process
// there. tests/scripts/faults.py uses it.
//   FAULT_FOLDER  files below it count; nothing is done without it
//   FAULT_AT      the call, from 1
//   FAULT_ERROR   the errno of the failure; without it the process is killed
//   FAULT_LOG     a file to which every counted call adds a line
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace {

std::atomic<long> calls{0};

struct Settings {
  const char* folder = std::getenv("FAULT_FOLDER");
  const char* log = std::getenv("FAULT_LOG");
  long at = std::getenv("FAULT_AT") ? std::atol(std::getenv("FAULT_AT")) : 0;
  int error = std::getenv("FAULT_ERROR") ? std::atoi(std::getenv("FAULT_ERROR")) : 0;
};

const Settings& settings() {
  static const Settings all;
  return all;
}

bool counts(const char* path) {
  const char* const folder = settings().folder;
  if (folder == nullptr) return false;
  const size_t length = std::strlen(folder);
  return std::strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

void note(const char* call, const char* path) {
  if (settings().log == nullptr) return;
  char line[PATH_MAX + 32];
  const int length = std::snprintf(line, sizeof line, "%s %s\n", call, path);
  const long file =
      syscall(SYS_openat, AT_FDCWD, settings().log, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || length < 0) return;
  syscall(SYS_write, file, line, static_cast<size_t>(length));
  syscall(SYS_close, file);
}

enum class Fate { pass, fail, die };

Fate fate_of(const char* call, const char* path) {
  if (!counts(path)) return Fate::pass;
  note(call, path);
  if (++calls != settings().at) return Fate::pass;
  return settings().error == 0 ? Fate::die : Fate::fail;
}

Fate fate_of(const char* call, int file) {
  if (settings().folder == nullptr) return Fate::pass;
  char link[64], path[PATH_MAX + 1];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length <= 0) return Fate::pass;
  path[length] = '\0';
  return fate_of(call, path);
}

[[noreturn]] void die() {
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

int answer(Fate fate) {
  if (fate == Fate::die) die();
  errno = settings().error;
  return -1;
}

/// A path that may be relative, of a call that has no descriptor yet.
Fate fate_of_path(const char* call, const char* path) {
  char folder[PATH_MAX] = "", full[2 * PATH_MAX];
  if (path[0] != '/' && getcwd(folder, sizeof folder) == nullptr) return Fate::pass;
  std::snprintf(full, sizeof full, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", path);
  return fate_of(call, full);
}

int open_file(const char* path, int flags, mode_t mode) {
  const bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
  if (const Fate fate = writes ? fate_of_path("open", path) : Fate::pass; fate != Fate::pass)
    return answer(fate);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

/// A write that fails or dies has written the first half.
template <class Write>
ssize_t write_file(int file, size_t size, const Write& write) {
  const Fate fate = fate_of("write", file);
  if (fate == Fate::pass) return write(size);
  write(size / 2);
  return answer(fate);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open_file(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open_file(path, flags, mode);
}

ssize_t write(int file, const void* data, size_t size) {
  return write_file(file, size,
                    [&](size_t count) { return syscall(SYS_write, file, data, count); });
}

ssize_t pwrite(int file, const void* data, size_t size, off_t position) {
  return write_file(
      file, size, [&](size_t count) { return syscall(SYS_pwrite64, file, data, count, position); });
}

ssize_t pwrite64(int file, const void* data, size_t size, off64_t position) {
  return pwrite(file, data, size, position);
}

int fsync(int file) {
  if (const Fate fate = fate_of("fsync", file); fate != Fate::pass) return answer(fate);
  return static_cast<int>(syscall(SYS_fsync, file));
}

int fdatasync(int file) {
  if (const Fate fate = fate_of("fsync", file); fate != Fate::pass) return answer(fate);
  return static_cast<int>(syscall(SYS_fdatasync, file));
}

int rename(const char* from, const char* to) noexcept {
  if (const Fate fate = fate_of_path("rename", to); fate != Fate::pass) return answer(fate);
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int close(int file) {
  const Fate fate = fate_of("close", file);
  if (fate == Fate::die) die();
  const int result = static_cast<int>(syscall(SYS_close, file));
  return fate == Fate::fail ? answer(fate) : result;
}

}  // extern "C"
