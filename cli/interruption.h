// Ctrl-C and SIGTERM as a flag that a command looks at, so that it can save first.
#pragma once

namespace facet {

/// From now on the first Ctrl-C or SIGTERM sets the flag; a second Ctrl-C ends the program at once.
void catch_interruption();
/// From now on they end the program, as usual.
void end_on_interruption();
/// Whether the flag is set.
bool interrupted();

}  // namespace facet
