#include "cli/interruption.h"

#include <csignal>

namespace facet {

namespace {

constexpr int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

volatile std::sig_atomic_t interruption = 0;  ///< the signal; 0: none yet

}  // namespace

void catch_interruption() {
  for (const int each : caught)
    std::signal(each, [](int signal) {
      if (interruption == 0) interruption = signal;
      if (signal == SIGINT) std::signal(signal, SIG_DFL);
    });
}

void end_on_interruption() {
  for (const int signal : caught) std::signal(signal, SIG_DFL);
}

bool interrupted() { return interruption != 0; }

int interruption_status() { return 128 + (interrupted() ? interruption : SIGINT); }

}  // namespace facet
