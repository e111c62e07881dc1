#include "cli/server_process.h"

#include <csignal>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace facet {

namespace {

constexpr int kLowPriority = 10;

}  // namespace

ServerProcess::ServerProcess(const std::filesystem::path& run, int port) {
  std::string words[] = {"facet", "serve", run.string(), "--port", std::to_string(port)};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                       words[3].data(), words[4].data(), nullptr};
  process_ = fork();
  if (process_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // a killed training leaves no server behind
  setpriority(PRIO_PROCESS, 0, kLowPriority);
  execv("/proc/self/exe", arguments);
  _exit(127);
}

ServerProcess::~ServerProcess() {
  if (process_ <= 0) return;
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
}

}  // namespace facet
