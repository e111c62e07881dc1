// The names of a pack in shards: NAME-00000.safetensors, NAME-00001.safetensors and so on, which a
// `*` in the file's name stands for together. The files may have other names too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace facet {

/// Whether a path stands for several files: its last part has a `*`.
bool names_shards(const std::filesystem::path& path);

/// Throws an Error if a pack to be written has such a name: nothing could read it.
void require_one_name(const std::filesystem::path& output);

/// The files that match, sorted by name. Throws an Error if there are none, or if the numbers at
/// the end of their names have a gap.
std::vector<std::filesystem::path> shard_files(const std::filesystem::path& pattern);

/// Where shard `number` of a pack to be written at `output` goes: NAME-00012.safetensors.
std::filesystem::path shard_path(const std::filesystem::path& output, int64_t number);
/// The name of all of them: NAME-*.safetensors.
std::filesystem::path shard_pattern(const std::filesystem::path& output);

/// Removes shards of `output` with this number and above, left by an earlier import with more.
void remove_shards_from(const std::filesystem::path& output, int64_t number);

}  // namespace facet
