// `--processes N` of the commands that train: N ranks on this machine, started and watched by one
// process, which also hosts the store through which they find each other.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.h"

namespace facet {

/// The options of commands that train with several processes.
struct RankArguments {
  int processes = 1, restarts = 0;
  double rank_timeout = 120;  ///< seconds

  bool starts_processes() const { return processes > 1 || restarts > 0; }
  std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(static_cast<int64_t>(1e3 * rank_timeout));
  }
};
void add_rank_options(const Command& command, RankArguments& arguments);

struct ProcessesRequest {
  int count = 1;
  /// Of `facet`, for every rank; those of the first are added for rank 0.
  std::vector<std::string> arguments, of_first;
  /// Of `facet`, to go on after a failure, if there is a checkpoint by then.
  std::vector<std::string> to_resume;
  std::function<bool()> has_checkpoint;
  std::string to_continue;  ///< the command line that continues, for users
  int restarts = 0;         ///< after a rank was lost
  std::chrono::milliseconds timeout;
};

/// Returns when all have ended well; else throws the ExitStatus, after one line on stderr.
void run_processes(const ProcessesRequest& request);

}  // namespace facet
