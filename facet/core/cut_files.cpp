// A signal handler may neither allocate nor lock, so the mapped files are in a table of fixed size
// whose entries are published by their addresses.
#include "facet/core/cut_files.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unistd.h>

namespace facet {

namespace {

/// Packs of more files than this are rare; what has no entry ends as without a handler.
constexpr size_t kNotedFiles = 4096;
constexpr size_t kNotedPath = 256;  ///< characters of a path, its last ones

struct NotedFile {
  std::atomic<uintptr_t> begin = 0;  ///< 0: no file
  std::atomic<size_t> size = 0;
  std::array<char, kNotedPath> path{};
};

std::array<NotedFile, kNotedFiles> noted_files;
std::mutex noting;

/// write(2) may be called in a signal handler; what it could not write is lost.
void say(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void answer_bus_error(int signal, siginfo_t* information, void*) {
  const auto address = reinterpret_cast<uintptr_t>(information->si_addr);
  for (const NotedFile& file : noted_files) {
    const uintptr_t begin = file.begin.load();
    if (begin == 0 || address < begin || address - begin >= file.size.load()) continue;
    say("facet: reading '");
    say(file.path.data());
    say("': found that it was cut or could not be read while it was in use, expected all of its "
        "bytes (was it written anew in place? Programs should write another file and rename it)\n");
    _exit(2);
  }
  std::signal(signal, SIG_DFL);  // the same access then ends the program as usual
}

}  // namespace

void report_cut_files() {
  struct sigaction action {};
  action.sa_sigaction = answer_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

void note_mapping(const void* data, size_t size, const std::filesystem::path& path) {
  const std::string text = path.string();
  const std::lock_guard lock(noting);
  for (NotedFile& file : noted_files) {
    if (file.begin.load() != 0) continue;
    const size_t skipped = text.size() - std::min(text.size(), kNotedPath - 1);
    std::memcpy(file.path.data(), text.c_str() + skipped, text.size() - skipped + 1);
    file.size = size;
    file.begin = reinterpret_cast<uintptr_t>(data);
    return;
  }
}

void forget_mapping(const void* data) {
  const std::lock_guard lock(noting);
  for (NotedFile& file : noted_files)
    if (file.begin.load() == reinterpret_cast<uintptr_t>(data)) file.begin = 0;
}

}  // namespace facet
