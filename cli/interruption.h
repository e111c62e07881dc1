// Signals that ask a program to end, as a flag that a command looks at, so that it can save first.
#pragma once

namespace facet {

/// From now on the first Ctrl-C, SIGTERM, SIGHUP (the terminal was closed) or SIGPIPE (nobody reads
/// the output any more, as after `| head`) sets the flag; a second Ctrl-C ends the program at once.
void catch_interruption();
/// From now on they end the program, as usual.
void end_on_interruption();
/// Whether the flag is set.
bool interrupted();
/// The status to end with then, as shells have it: 128 and the number of the signal.
int interruption_status();

}  // namespace facet
