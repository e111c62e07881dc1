// The processes that `--processes` has started.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {

/// The process of a rank.
inline pid_t rank_process(const RunningProgram& starter, int rank) {
  std::ifstream children(
      fmt::format("/proc/{}/task/{}/children", starter.process(), starter.process()));
  for (pid_t child = 0; children >> child;) {
    std::ifstream file(fmt::format("/proc/{}/environ", child));
    std::stringstream variables;
    variables << '\0' << file.rdbuf();
    if (contains(variables.str(), std::string(1, '\0') + fmt::format("RANK={}", rank) + '\0'))
      return child;
  }
  throw std::runtime_error(fmt::format("no rank {}", rank));  // not 0, which is all processes here
}

}  // namespace facet
