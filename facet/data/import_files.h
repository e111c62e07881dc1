// Importing into a pack on disk, for `facet import`. Every function first makes sure that the pack
// can be written, then writes it and returns what it did; whoever calls needs no tensors. A
// `shard_size` that is not 0 is the number of images per file (pack_shards.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "facet/data/import_options.h"

namespace facet {

ImportSummary import_idx_files(const std::vector<IdxPart>& parts, const std::string& name,
                               const std::filesystem::path& output, int64_t shard_size);
ImportSummary import_idx_table(const std::filesystem::path& images,
                               const std::filesystem::path& table, const TableOptions& options,
                               const std::filesystem::path& output, int64_t shard_size);
/// In shards, memory is that of one of them. Nothing, if events.stop() said so between two shards.
std::optional<ImportSummary> import_portraits(const PortraitSetOptions& options,
                                              const std::filesystem::path& output,
                                              int64_t shard_size, const ImportEvents& events);
/// import_folder() of import.h.
std::optional<ImportSummary> import_image_folder(const std::filesystem::path& folder,
                                                 const FolderOptions& options,
                                                 const std::filesystem::path& output,
                                                 const ImportEvents& events);

}  // namespace facet
