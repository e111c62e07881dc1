#include "cli/processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/rank_store.h"

extern char** environ;

namespace facet {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kInterrupted = 130, kWrongInput = 2;

volatile std::sig_atomic_t rank_signal = 0;  ///< to be passed on

/// Signals as a number that the loop below looks at. Without SA_RESTART, so that poll() returns.
void pass_signals_on() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { rank_signal = signal; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

/// The environment of this process with other values of some variables, as execve wants it.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& values) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!values.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : values) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// One rank as a child process.
struct RankProcess {
  int rank = 0;
  pid_t process = -1;
  int errors = -1;  ///< the end of its stderr that we read
  std::string unread;
  bool ended = false;
};

/// One attempt to train.
class LocalRanks {
 public:
  explicit LocalRanks(const ProcessesRequest& request) : request_(request) {}

  /// The exit status: that of the rank whose failure ended all.
  int run(const std::vector<std::string>& arguments) {
    for (int rank = 0; rank < request_.count; ++rank) ranks_.push_back(start(rank, arguments));
    while (living() > 0) {
      read_errors();
      for (RankProcess& rank : ranks_) look_after(rank);
      if (rank_signal != 0) pass_on(std::exchange(rank_signal, 0));
      // A rank that was suspended or hangs does not end by itself.
      if (Clock::now() > give_up_) send(SIGKILL);
    }
    read_errors();
    for (const RankProcess& rank : ranks_) close(rank.errors);
    return status_;
  }

 private:
  /// The environment of a rank, which torchrun would give it too.
  std::vector<std::string> environment_of(int rank) const {
    std::map<std::string, std::string> place = {{"RANK", std::to_string(rank)},
                                                {"WORLD_SIZE", std::to_string(request_.count)},
                                                {"LOCAL_RANK", std::to_string(rank)},
                                                {"MASTER_ADDR", "127.0.0.1"},
                                                {"MASTER_PORT", std::to_string(store_.port())},
                                                {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                {"TORCHELASTIC_RESTART_COUNT", "0"}};
    if (std::getenv("OMP_NUM_THREADS") == nullptr)
      place["OMP_NUM_THREADS"] = std::to_string(std::max<unsigned>(
          1, std::thread::hardware_concurrency() / static_cast<unsigned>(request_.count)));
    return environment_with(place);
  }

  RankProcess start(int rank, std::vector<std::string> arguments) const {
    if (rank == 0)
      arguments.insert(arguments.end(), request_.of_first.begin(), request_.of_first.end());
    arguments.insert(arguments.begin(), "facet");
    std::vector<std::string> environment = environment_of(rank);
    const std::vector<char*> words = pointers_to(arguments), variables = pointers_to(environment);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail_to_start();
    const pid_t parent = getpid(), child = fork();
    if (child < 0) fail_to_start();
    if (child == 0) {
      setpgid(0, 0);  // Ctrl-C reaches it through this process alone, and once
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(1);
      const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (rank > 0 && nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      execve("/proc/self/exe", words.data(), variables.data());
      _exit(127);
    }
    close(ends[1]);
    return {rank, child, ends[0]};
  }

  [[noreturn]] static void fail_to_start() {
    throw Error({.doing = "starting a rank", .found = std::strerror(errno)});
  }

  int64_t living() const {
    return std::count_if(ranks_.begin(), ranks_.end(),
                         [](const RankProcess& rank) { return !rank.ended; });
  }

  void send(int signal) const {
    for (const RankProcess& rank : ranks_)
      if (!rank.ended) kill(rank.process, signal);
  }

  /// A second Ctrl-C ends a rank at once, and then the others, as with a single process.
  void pass_on(int signal) {
    interrupted_ = true;
    send(signal == SIGHUP ? SIGTERM : signal);
  }

  void read_errors() {
    std::vector<pollfd> waiting;
    for (const RankProcess& rank : ranks_) waiting.push_back({rank.errors, POLLIN, 0});
    constexpr int at_most = 50;  // milliseconds, after which ranks are looked after
    if (living() > 0) poll(waiting.data(), waiting.size(), at_most);
    for (RankProcess& rank : ranks_) {
      pollfd now{rank.errors, POLLIN, 0};
      char buffer[4096];
      while (poll(&now, 1, 0) > 0 && (now.revents & POLLIN) != 0) {
        const ssize_t count = read(rank.errors, buffer, sizeof buffer);
        if (count <= 0) break;
        rank.unread.append(buffer, static_cast<size_t>(count));
      }
      for (size_t end; (end = rank.unread.find('\n')) != std::string::npos;
           rank.unread.erase(0, end + 1))
        say(rank.unread.substr(0, end));
    }
  }

  /// What ends all ranks is told by each of them: once is enough.
  void say(const std::string& line) {
    const bool ours = line.rfind("facet: ", 0) == 0;
    if (ours && std::exchange(said_, true)) return;
    fmt::print(stderr, "{}\n", line);
  }

  void look_after(RankProcess& rank) {
    int status = 0;
    if (rank.ended || waitpid(rank.process, &status, WNOHANG) != rank.process) return;
    rank.ended = true;
    const bool killed = WIFSIGNALED(status);
    const int code = killed ? 1 : WEXITSTATUS(status);
    // Who was given wrong input may end after those who hear of it.
    if (code == kWrongInput && status_ == 1) status_ = code;
    if (code == 0 || status_ != 0) return;
    status_ = killed && interrupted_ ? kInterrupted : code;
    if (status_ == kInterrupted) return;  // the first one may still be saving
    // By then the others have found out.
    give_up_ = Clock::now() + std::clamp<Clock::duration>(request_.timeout / 10,
                                                          std::chrono::milliseconds(500),
                                                          std::chrono::seconds(10));
    if (killed && !interrupted_)
      say("facet: " +
          to_string(
              {.doing = fmt::format("training with {} ranks", request_.count),
               .found = fmt::format("rank {} (process {}) ended by signal {} ({})", rank.rank,
                                    rank.process, WTERMSIG(status), strsignal(WTERMSIG(status))),
               .expected = "all ranks at work",
               .cause = fmt::format("the last good checkpoint is unchanged; continue with: {}",
                                    request_.to_continue)}));
  }

  const ProcessesRequest& request_;
  RankStore store_;
  std::vector<RankProcess> ranks_;
  int status_ = 0;
  bool said_ = false;  ///< why it ended
  bool interrupted_ = false;
  Clock::time_point give_up_ = Clock::time_point::max();
};

}  // namespace

void add_rank_options(const Command& command, RankArguments& arguments) {
  const Option processes =
      command
          .option("--processes", arguments.processes,
                  "Train with so many processes on this machine, one per GPU or a share of the "
                  "processors each")
          .range(1, 1024);
  command
      .option("--restarts", arguments.restarts,
              "With --processes: start again from the last checkpoint, so many times, when a "
              "process was lost")
      .range(0, 1000000)
      .needs(processes);
  command
      .option("--rank-timeout", arguments.rank_timeout,
              "Seconds that one of several processes waits for another before all end")
      .range(1.0, 86400.0)
      .show_default();
}

void run_processes(const ProcessesRequest& request) {
  pass_signals_on();
  int status = LocalRanks(request).run(request.arguments);
  for (int restart = 1; status == 1 && restart <= request.restarts; ++restart) {
    const bool begun = request.has_checkpoint();
    fmt::print(stderr, "facet: starting all ranks again{} ({} of {})\n",
               begun ? " from the last checkpoint" : "", restart, request.restarts);
    status = LocalRanks(request).run(begun ? request.to_resume : request.arguments);
  }
  if (status != 0) throw ExitStatus{status};
}

}  // namespace facet
