// `facet train --processes N`: N ranks on this machine, started and watched by one process, which
// also hosts the store through which they find each other.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace facet {

struct ProcessesRequest {
  int count = 1;
  /// Of `facet`, for every rank; those of the first are added for rank 0.
  std::vector<std::string> arguments, of_first;
  /// Of `facet`, to go on after a failure, if `folder` has a run by then.
  std::vector<std::string> to_resume;
  std::string folder;
  int restarts = 0;  ///< after a rank was lost
  std::chrono::milliseconds timeout;
};

/// Returns when all have ended well; else throws the ExitStatus, after one line on stderr.
void run_processes(const ProcessesRequest& request);

}  // namespace facet
