#include "cli/interruption.h"

#include <csignal>

namespace facet {

namespace {

volatile std::sig_atomic_t interruption = 0;

}  // namespace

void catch_interruption() {
  std::signal(SIGINT, [](int signal) {
    interruption = 1;
    std::signal(signal, SIG_DFL);
  });
  std::signal(SIGTERM, [](int) { interruption = 1; });
}

void end_on_interruption() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool interrupted() { return interruption != 0; }

}  // namespace facet
