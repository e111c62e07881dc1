// How much memory a process may use, so that what would need more is refused before it is begun:
// the system would else end the process, or another one, without a word.
#pragma once

namespace facet {

/// Bytes: the machine's memory with its swap space, or less where a container or a limit of the
/// shell (ulimit -v) allows less.
double memory_limit();

}  // namespace facet
