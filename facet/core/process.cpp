#include "facet/core/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <thread>
#include <unistd.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

namespace facet {

void use_all_processors() {
  const unsigned processors = std::thread::hardware_concurrency();
  if (std::getenv("OMP_NUM_THREADS") == nullptr && processors > 0)
    at::set_num_threads(static_cast<int>(processors));
}

void use_float32_convolutions() { at::globalContext().setAllowTF32CuDNN(false); }

void occupy_standard_files() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0)  // the lowest free number is this one
      (void)open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

LibraryFailure library_failure(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  const bool memory = text.find("allocate memory") != std::string::npos ||
                      text.find("out of memory") != std::string::npos;
  return {text.substr(0, text.find('\n')), torch_error != nullptr && memory};
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

std::string process_space() {
  char boot[64] = "", space[64] = "";
  if (const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t count = read(file, boot, 36);
    close(file);
    if (count == 36 && readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0)
      return fmt::format("{} {}", boot, space);
  }
  return "";
}

bool process_lives(pid_t process) {
  if (process <= 0 || (kill(process, 0) != 0 && errno == ESRCH)) return false;
  const int file = open(fmt::format("/proc/{}/stat", process).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;  // no /proc; it exists
  char text[512] = "";
  const ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  // "1234 (name) S ...", where the name may have any character
  const std::string_view line(text, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string_view::npos || name_end + 2 >= line.size()) return true;
  const char state = line[name_end + 2];
  return state != 'Z' && state != 'X';
}

}  // namespace facet
