// Runs the real program as a user would: its arguments in, its exit status and what it printed out.
// A running program can be sent signals, and its disk can be made full. A program needs half a
// second to load LibTorch, which is most of what a small command takes; so what is run to its end
// may be a fork of the test, in which LibTorch is loaded already.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "facet/core/file.h"
#include "paths.h"
#include "tests/temporary_folder.h"

namespace facet {

struct ProgramResult {
  int status = 0;  ///< exit status, or minus the signal that ended it
  std::string out, err;
};

struct ProgramOptions {
  rlim_t largest_file = RLIM_INFINITY;   ///< bytes; writes past it fail as on a full disk
  std::filesystem::path folder;          ///< to run in; empty: the test's own
  rlim_t address_space = RLIM_INFINITY;  ///< bytes, as by ulimit -v
  int threads = 0;                       ///< OMP_NUM_THREADS; 0: the test's own
};

/// The program as a function, where a test program has it.
inline int (*facet_as_function)(int, char**) = nullptr;

/// A program that has been started. Its output goes to files, so that it never waits for a reader.
class RunningProgram {
 public:
  explicit RunningProgram(std::vector<std::string> command, const ProgramOptions& options = {},
                          int (*function)(int, char**) = nullptr)
      : out_(std::tmpfile()), err_(std::tmpfile()) {
    if (out_ == nullptr || err_ == nullptr) throw std::runtime_error("no temporary file");
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // One thread each: with more, tiny models spend their time waiting for busy processors.
    setenv("OMP_NUM_THREADS", "1", /*overwrite=*/0);
    std::fflush(nullptr);  // else a fork prints again what the test has printed
    process_ = fork();
    if (process_ < 0) throw std::runtime_error("cannot fork");
    if (process_ > 0) return;
    if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(127);
    if (options.largest_file != RLIM_INFINITY) {
      const rlimit limit{options.largest_file, options.largest_file};
      setrlimit(RLIMIT_FSIZE, &limit);
      std::signal(SIGXFSZ, SIG_IGN);  // the write then fails, as it does on a full disk
    }
    if (options.threads > 0) setenv("OMP_NUM_THREADS", std::to_string(options.threads).c_str(), 1);
    if (options.address_space != RLIM_INFINITY) {
      const rlimit limit{options.address_space, options.address_space};
      setrlimit(RLIMIT_AS, &limit);
    }
    dup2(fileno(out_), STDOUT_FILENO);
    dup2(fileno(err_), STDERR_FILENO);
    if (function != nullptr) {
      const int status = function(static_cast<int>(command.size()), arguments.data());
      std::fflush(nullptr);
      _exit(status);
    }
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram() {
    if (!ended_) {
      send(SIGKILL);
      wait();
    }
    std::fclose(out_);
    std::fclose(err_);
  }

  pid_t process() const { return process_; }
  void send(int signal) const { ::kill(process_, signal); }

  /// What it has printed until now.
  std::string printed() const {
    std::string text(1 << 16, '\0');  // pread: rewinding would move the program's own place too
    const ssize_t count = pread(fileno(out_), text.data(), text.size(), 0);
    text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return text;
  }

  ProgramResult wait() {
    int status = 0;
    if (!ended_) waitpid(process_, &status, 0);
    ended_ = true;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(out_),
            contents(err_)};
  }

 private:
  static std::string contents(std::FILE* file) {
    std::rewind(file);
    std::string text;
    char buffer[4096];
    for (size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
      text.append(buffer, count);
    return text;
  }

  std::FILE *out_, *err_;
  pid_t process_ = -1;
  bool ended_ = false;
};

inline std::vector<std::string> facet_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {FACET_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

/// Runs it to its end: as a function in a fork of the test where that can be, else as a program.
inline ProgramResult run_facet(const std::vector<std::string>& arguments,
                               const ProgramOptions& options = {}) {
  const bool starts_itself = std::any_of(arguments.begin(), arguments.end(), [](const auto& word) {
    return word == "--processes" || word == "--serve";
  });
  return RunningProgram(facet_command(arguments), options,
                        starts_itself ? nullptr : facet_as_function)
      .wait();
}

/// Looks every two milliseconds; false where the condition is not met within a minute.
inline bool wait_until(const std::function<bool()>& condition) {
  for (int i = 0; i < 30000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

/// Every file below a folder with its bytes.
inline std::map<std::string, std::string> files_below(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    files[std::filesystem::relative(entry.path(), folder).string()] =
        entry.is_regular_file() ? read_text(entry.path(), "test") : "";
  return files;
}

/// 16x16 portraits, two small convolutions, two factors: a run of a second. `train` is the inside
/// of the train group.
inline std::string tiny_config(const std::string& train) {
  return R"({
  "data": {"portraits": {"count": 200, "size": 16}},
  "model": {
    "likelihood": {"kind": "gaussian", "minimum_stddev": 0.05},
    "network": {"preset": "custom", "channels": [8, 8], "strides": [2, 2]},
    "factors": [
      {"name": "first", "components": 3, "dimensions": 2},
      {"name": "second", "components": 3, "dimensions": 2}
    ]
  },
  "train": {"batch_size": 16, )" +
         train + "}\n}\n";
}

/// A config for a run that is done at once.
inline std::string quick_config() {
  return tiny_config(
      R"("pretrain": {"steps": 20}, "initialise": {"steps": 5}, "joint": {"steps": 20},
      "log_every": 5, "learning_rate": {"start": 1e-3, "end": 1e-3})");
}

}  // namespace facet
