// Which runs of a sweep a process takes when every process has its own part, as in a Slurm array.
#pragma once

#include <cstddef>
#include <string>

namespace facet {

/// Of `count` shards, the one that has every run whose number leaves the remainder `index`.
struct Shard {
  size_t index = 0, count = 1;

  bool has(size_t run) const { return run % count == index; }
};

/// Reads "i/n", from 1/n to n/n. "slurm" is the place of this task in its Slurm job array, from the
/// environment. Throws an Error for anything else.
Shard parse_shard(const std::string& text);

}  // namespace facet
