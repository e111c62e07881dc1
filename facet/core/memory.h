// How much memory a process may use, so that what would need more is refused before it is begun:
// the system would else end the process, or another one, without a word.
#pragma once

namespace facet {

/// Bytes: the machine's memory with its swap space, or less where a container or a limit of the
/// shell (ulimit -v) allows less.
double memory_limit();

/// Where the address space is limited (ulimit -v): makes the library of matrix products take at
/// once the memory that it keeps. Without it, that library would try again for ever; an Error is
/// thrown instead.
void take_product_memory();

}  // namespace facet
