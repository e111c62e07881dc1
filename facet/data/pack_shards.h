// A pack in shards: several files that act as one pack. Each is a pack of its own, with images of
// the same shape, the same properties and the same columns of the table. All of them are written,
// or none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "facet/data/pack.h"
#include "facet/data/shard_names.h"

namespace facet {

/// The files that match as one pack. Images stay mapped; labels, splits, names and the table are
/// copied.
Pack read_shards(const std::filesystem::path& pattern);

/// `count` images of a pack from `begin` on, with their labels, splits and texts, without copying.
Pack slice(const Pack& pack, int64_t begin, int64_t count);

/// Writes `count` images, `shard_size` per file; `make(begin, images)` gives the pack of each. The
/// files appear together at the end. `proceed(done)` says whether to go on after a file; if not,
/// nothing is written and the result is false.
bool write_shards(const std::filesystem::path& output, int64_t count, int64_t shard_size,
                  const std::function<Pack(int64_t, int64_t)>& make,
                  const std::function<bool(int64_t)>& proceed);

}  // namespace facet
