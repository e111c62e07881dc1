// `facet serve` beside a training: a process of its own and of low priority, so that whatever
// happens in it, the training's numbers stay as they are. It sees the run folder and nothing else.
#pragma once

#include <filesystem>
#include <sys/types.h>

namespace facet {

class ServerProcess {
 public:
  /// Says itself where it serves, or why it cannot.
  ServerProcess(const std::filesystem::path& run, int port);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  /// Ends it.
  ~ServerProcess();

 private:
  pid_t process_ = -1;
};

}  // namespace facet
